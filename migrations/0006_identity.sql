-- Sign-in with Solana: sessions of wallets. And API keys that belong to the wallet that proves them.

-- A session is found by the SHA-256 of its token. The token itself is stored nowhere.
CREATE TABLE sessions (
    session_id   uuid        PRIMARY KEY,
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    wallet       text        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('bearer', 'cookie')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    -- The random part of the challenge that opened it: no challenge opens two sessions. The row lives longer than the
    -- challenge.
    challenge    bytea       NOT NULL UNIQUE CHECK (octet_length(challenge) = 16)
);
CREATE INDEX sessions_of_wallet ON sessions (wallet, created_at) WHERE ended_at IS NULL;
-- The time from which a session is over, for the purge.
CREATE INDEX sessions_over ON sessions (COALESCE(ended_at, expires_at));

-- Session public keys are visible on chain, so any wallet can grant spending to the session key of another one. A row
-- belongs to the pair of both. The key acts for the one wallet for which its holder registered it with a signature.
--
-- Only the session public key is kept: nothing in this table can sign or spend.
CREATE TABLE api_keys (
    session_public_key text NOT NULL,
    wallet             text NOT NULL,
    grant_address      text NOT NULL,
    -- Null: nobody named it.
    name               text,
    created_at         timestamptz NOT NULL DEFAULT now(),
    last_used_at       timestamptz,
    revoked_at         timestamptz,
    -- Executions that were opened and have ended.
    execution_count    bigint NOT NULL DEFAULT 0,
    -- What its completed executions cost, in USDC base units.
    spent              bigint NOT NULL DEFAULT 0,
    -- The end of the key's text, by which its owner tells it from others.
    last_four          text CHECK (octet_length(last_four) = 4),
    -- Null: it does not act for the wallet.
    registered_at      timestamptz,
    PRIMARY KEY (session_public_key, wallet)
);
CREATE INDEX api_keys_by_wallet ON api_keys (wallet, created_at);
CREATE UNIQUE INDEX api_keys_registered ON api_keys (session_public_key) WHERE registered_at IS NOT NULL;
