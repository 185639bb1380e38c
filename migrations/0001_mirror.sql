-- The mirror of the program's accounts, the metadata documents of listings, and API keys.
--
-- Addresses are base58 text, amounts are USDC base units, hashes are 32 bytes. Every mirrored row says
-- which `revision` of the account it shows and the `slot` it was read at; rows only move forward (newer
-- revision, then newer slot). `closed_at_slot` is set when a snapshot no longer has the account: rows of
-- closed accounts stay, they are the history.

CREATE TABLE mirror_config (
    address           text PRIMARY KEY,
    slot              bigint NOT NULL,
    revision          bigint NOT NULL,
    observed_at       timestamptz NOT NULL DEFAULT now(),
    closed_at_slot    bigint,
    admin             text NOT NULL,
    pending_admin     text,
    resolver          text NOT NULL,
    gateway_authority text NOT NULL,
    treasury_owner    text NOT NULL,
    usdc_mint         text NOT NULL,
    dispute_window_s  bigint NOT NULL,
    settle_grace_s    bigint NOT NULL,
    collateral_tiers  jsonb NOT NULL,
    fee_bps           integer NOT NULL,
    paused            boolean NOT NULL
);

CREATE TABLE mirror_creators (
    address        text PRIMARY KEY,
    slot           bigint NOT NULL,
    revision       bigint NOT NULL,
    observed_at    timestamptz NOT NULL DEFAULT now(),
    closed_at_slot bigint,
    wallet         text NOT NULL UNIQUE,
    display_name   text NOT NULL,
    verified       boolean NOT NULL,
    verified_at    timestamptz,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);

CREATE TABLE mirror_agents (
    address                 text PRIMARY KEY,
    slot                    bigint NOT NULL,
    revision                bigint NOT NULL,
    observed_at             timestamptz NOT NULL DEFAULT now(),
    closed_at_slot          bigint,
    creator                 text NOT NULL,
    agent_index             bigint NOT NULL,
    result_key              text NOT NULL,
    metadata_hash           bytea NOT NULL CHECK (octet_length(metadata_hash) = 32),
    metadata_uri            text NOT NULL,
    price                   bigint NOT NULL CHECK (price >= 0),
    collateral              bigint NOT NULL,
    slashed_total           bigint NOT NULL,
    open_amount             bigint NOT NULL,
    total_executions        bigint NOT NULL,
    successful_executions   bigint NOT NULL,
    failed_executions       bigint NOT NULL,
    disputed_executions     bigint NOT NULL,
    completed_executions    bigint NOT NULL,
    execution_time_ms_total bigint NOT NULL,
    timeout_seconds         bigint NOT NULL,
    open_executions         bigint NOT NULL,
    open_disputes           bigint NOT NULL,
    -- 1 active, 2 paused, 3 delisted
    status                  smallint NOT NULL,
    created_at              timestamptz NOT NULL,
    updated_at              timestamptz NOT NULL,
    last_dispute_deadline   timestamptz,
    -- Of finished executions, the part that completed without an upheld dispute; 0 before the first.
    success_rate            double precision NOT NULL GENERATED ALWAYS AS (
        CASE WHEN total_executions > 0 THEN successful_executions::double precision / total_executions ELSE 0 END
    ) STORED,
    -- Mean over completed executions; 0 before the first.
    avg_execution_time_ms   bigint NOT NULL GENERATED ALWAYS AS (
        CASE WHEN completed_executions > 0 THEN execution_time_ms_total / completed_executions ELSE 0 END
    ) STORED
);

-- One per sort key of GET /v1/agents, over what the list can show.
CREATE INDEX mirror_agents_by_executions ON mirror_agents (total_executions DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL;
CREATE INDEX mirror_agents_by_success ON mirror_agents (success_rate DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL;
CREATE INDEX mirror_agents_by_price ON mirror_agents (price, address)
    WHERE status = 1 AND closed_at_slot IS NULL;
CREATE INDEX mirror_agents_by_price_desc ON mirror_agents (price DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL;
CREATE INDEX mirror_agents_by_creation ON mirror_agents (created_at DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL;
CREATE INDEX mirror_agents_by_creator ON mirror_agents (creator);

-- Metadata documents. A row either holds a document whose SHA-256 is `sha256` (then `error` is null) or
-- says why there is none yet and when to try again.
CREATE TABLE agent_metadata (
    agent        text NOT NULL,
    sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
    uri          text NOT NULL,
    document     jsonb,
    name         text,
    tagline      text,
    tags         text[],
    endpoint     text,
    fetched_at   timestamptz,
    error        text,
    attempts     integer NOT NULL DEFAULT 0,
    next_attempt timestamptz,
    PRIMARY KEY (agent, sha256),
    CHECK ((error IS NULL) = (document IS NOT NULL)),
    CHECK (
        document IS NULL
        OR (name IS NOT NULL AND tagline IS NOT NULL AND tags IS NOT NULL AND endpoint IS NOT NULL
            AND fetched_at IS NOT NULL)
    )
);
CREATE INDEX agent_metadata_tags ON agent_metadata USING gin (tags) WHERE error IS NULL;

CREATE TABLE mirror_executions (
    address           text PRIMARY KEY,
    slot              bigint NOT NULL,
    revision          bigint NOT NULL,
    observed_at       timestamptz NOT NULL DEFAULT now(),
    closed_at_slot    bigint,
    execution_id      uuid NOT NULL,
    agent             text NOT NULL,
    caller            text NOT NULL,
    request_hash      bytea NOT NULL,
    refund_owner      text NOT NULL,
    result_key        text NOT NULL,
    rent_payer        text NOT NULL,
    grant_address     text,
    result_hash       bytea,
    amount            bigint NOT NULL CHECK (amount >= 0),
    creator_amount    bigint NOT NULL,
    platform_amount   bigint NOT NULL,
    tokens_used       bigint,
    execution_time_ms bigint NOT NULL,
    timeout_seconds   bigint NOT NULL,
    opened_at         timestamptz NOT NULL,
    deadline_at       timestamptz NOT NULL,
    finished_at       timestamptz,
    dispute_deadline  timestamptz,
    -- 1 open, 2 completed, 3 failed, 4 expired, 5 disputed, 6 overturned
    status            smallint NOT NULL,
    failure_reason    smallint,
    dispute_count     smallint NOT NULL,
    -- When the caller asked: the gateway's clock where it took the request, else the chain's at opening.
    initiated_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX mirror_executions_by_caller_id ON mirror_executions (caller, execution_id);
CREATE INDEX mirror_executions_by_caller ON mirror_executions (caller, initiated_at DESC, execution_id DESC);
CREATE INDEX mirror_executions_open_by_agent ON mirror_executions (agent) WHERE status = 1;

CREATE TABLE mirror_disputes (
    address         text PRIMARY KEY,
    slot            bigint NOT NULL,
    revision        bigint NOT NULL,
    observed_at     timestamptz NOT NULL DEFAULT now(),
    closed_at_slot  bigint,
    execution       text NOT NULL UNIQUE,
    agent           text NOT NULL,
    raised_by       text NOT NULL,
    rent_payer      text NOT NULL,
    evidence_hash   bytea NOT NULL,
    evidence_uri    text NOT NULL,
    resolution_hash bytea,
    raised_at       timestamptz NOT NULL,
    resolved_at     timestamptz,
    slash_amount    bigint NOT NULL,
    compensation    bigint NOT NULL,
    -- 1 open, 2 upheld, 3 rejected
    outcome         smallint NOT NULL
);

CREATE TABLE mirror_grants (
    address           text PRIMARY KEY,
    slot              bigint NOT NULL,
    revision          bigint NOT NULL,
    observed_at       timestamptz NOT NULL DEFAULT now(),
    closed_at_slot    bigint,
    wallet            text NOT NULL,
    session_key       text NOT NULL,
    allowed_agents    text[] NOT NULL,
    per_call_cap      bigint NOT NULL,
    total_cap         bigint NOT NULL,
    spent             bigint NOT NULL,
    executions        bigint NOT NULL,
    expires_at_unix_s bigint NOT NULL,
    created_at        timestamptz NOT NULL,
    revoked           boolean NOT NULL
);
CREATE INDEX mirror_grants_by_wallet ON mirror_grants (wallet);

-- How far the mirror is; written in the transaction that writes the rows.
CREATE TABLE mirror_checkpoint (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    slot         bigint NOT NULL,
    genesis_hash text,
    snapshot_at  timestamptz,
    updated_at   timestamptz NOT NULL DEFAULT now()
);

-- Accounts of the program whose bytes could not be read. Empty when all is well.
CREATE TABLE mirror_quarantine (
    address     text PRIMARY KEY,
    slot        bigint NOT NULL,
    data        bytea NOT NULL,
    error       text NOT NULL,
    observed_at timestamptz NOT NULL DEFAULT now()
);

-- API keys. Only the session public key is kept: nothing in this table can sign or spend.
CREATE TABLE api_keys (
    session_public_key text PRIMARY KEY,
    wallet             text NOT NULL,
    grant_address      text NOT NULL,
    name               text NOT NULL,
    network            text NOT NULL CHECK (network IN ('live', 'test')),
    created_at         timestamptz NOT NULL DEFAULT now(),
    last_used_at       timestamptz,
    revoked_at         timestamptz,
    execution_count    bigint NOT NULL DEFAULT 0,
    spent              bigint NOT NULL DEFAULT 0
);
CREATE INDEX api_keys_by_wallet ON api_keys (wallet, created_at);
