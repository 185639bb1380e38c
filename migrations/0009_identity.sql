-- Sign-in with Solana: sessions of wallets, and the challenges that were used. And API keys that belong to the wallet
-- that proves them.

-- A session is found by the SHA-256 of its token. The token itself is stored nowhere.
CREATE TABLE sessions (
    session_id   uuid        PRIMARY KEY,
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    wallet       text        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('bearer', 'cookie')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz
);
CREATE INDEX sessions_of_wallet ON sessions (wallet, created_at) WHERE ended_at IS NULL;
-- The time from which a session is over, for the purge.
CREATE INDEX sessions_over ON sessions (COALESCE(ended_at, expires_at));

-- The random part of each challenge that opened a session. A row lives longer than its challenge, so no challenge opens
-- two sessions. Challenges that nobody used have no row.
CREATE TABLE used_challenges (
    nonce      bytea       PRIMARY KEY CHECK (octet_length(nonce) = 16),
    keep_until timestamptz NOT NULL
);
CREATE INDEX used_challenges_by_time ON used_challenges (keep_until);

-- Session public keys are visible on chain, so any wallet can grant spending to the session key of another one. A row
-- belongs to the pair of both. It is proven if the holder of the session key registered it with a signature, or used it
-- first; the key acts for the wallet of its proven row, and there is at most one.
ALTER TABLE api_keys
    DROP CONSTRAINT api_keys_pkey,
    ADD PRIMARY KEY (session_public_key, wallet),
    -- Null: nobody named it.
    ALTER COLUMN name DROP NOT NULL,
    -- The end of the key's text, by which its owner tells it from others.
    ADD COLUMN last_four     text CHECK (octet_length(last_four) = 4),
    ADD COLUMN proven        boolean NOT NULL DEFAULT true,
    -- When it was registered with a signature, which says more about the wallet than a first use.
    ADD COLUMN registered_at timestamptz;
CREATE UNIQUE INDEX api_keys_proven ON api_keys (session_public_key) WHERE proven;

-- The wallets that granted spending to a session key.
CREATE INDEX mirror_grants_by_session_key ON mirror_grants (session_key, wallet);
