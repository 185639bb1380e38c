-- The mirror of the program's accounts, the metadata documents of listings, and the state of the indexer.
--
-- Addresses are base58 text, amounts are USDC base units, hashes are 32 bytes. Each mirrored row has the `revision`
-- of the account that it shows and the `slot` at which it was read. A row is replaced only by a newer revision, or
-- by the same revision at a later slot. `closed_at_slot` is set when the chain no longer has the account; rows of
-- closed accounts stay as history.

CREATE TABLE mirror_config (
    address                  text PRIMARY KEY,
    slot                     bigint NOT NULL,
    revision                 bigint NOT NULL,
    observed_at              timestamptz NOT NULL DEFAULT now(),
    closed_at_slot           bigint,
    admin                    text NOT NULL,
    pending_admin            text,
    -- Null: there is no resolver. The last one was removed and its successor does not apply yet.
    resolver                 text,
    resolver_since           timestamptz NOT NULL,
    gateway_authority        text NOT NULL,
    treasury_owner           text NOT NULL,
    usdc_mint                text NOT NULL,
    announced_resolver       text,
    announced_treasury_owner text,
    -- First second in which the announced roles can be applied; null if none are announced.
    roles_apply_from         timestamptz,
    dispute_window_s         bigint NOT NULL,
    settle_grace_s           bigint NOT NULL,
    collateral_tiers         jsonb NOT NULL,
    fee_bps                  integer NOT NULL,
    paused                   boolean NOT NULL
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
    -- agent_status(…)
    status                  smallint NOT NULL,
    created_at              timestamptz NOT NULL,
    updated_at              timestamptz NOT NULL,
    last_dispute_deadline   timestamptz,
    -- Copied from the document whose SHA-256 is `metadata_hash`, so that one index delivers a page of a list in
    -- order. Null until that document is fetched; the listing is not shown until then.
    name                    text,
    tagline                 text,
    tags                    text[],
    -- Share of the finished executions that completed without an upheld dispute; 0 before the first.
    success_rate            double precision NOT NULL GENERATED ALWAYS AS (
        CASE WHEN total_executions > 0 THEN successful_executions::double precision / total_executions ELSE 0 END
    ) STORED,
    -- Mean over completed executions; 0 before the first.
    avg_execution_time_ms   bigint NOT NULL GENERATED ALWAYS AS (
        CASE WHEN completed_executions > 0 THEN execution_time_ms_total / completed_executions ELSE 0 END
    ) STORED,
    CHECK ((name IS NULL) = (tagline IS NULL) AND (name IS NULL) = (tags IS NULL))
);

-- One index for each sort key of GET /v1/agents, over the rows of the view `listed_agents`.
CREATE INDEX mirror_agents_by_executions ON mirror_agents (total_executions DESC, address)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_success ON mirror_agents (success_rate DESC, address)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_price ON mirror_agents (price, address)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_price_desc ON mirror_agents (price DESC, address)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_creation ON mirror_agents (created_at DESC, address)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_tags ON mirror_agents USING gin (tags)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_creator ON mirror_agents (creator);
CREATE INDEX mirror_agents_without_document ON mirror_agents (address)
    WHERE name IS NULL AND closed_at_slot IS NULL;

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
    -- Seconds after completion in which the caller may raise a dispute.
    dispute_window_s  bigint NOT NULL,
    opened_at         timestamptz NOT NULL,
    deadline_at       timestamptz NOT NULL,
    finished_at       timestamptz,
    dispute_deadline  timestamptz,
    -- record_status(…)
    status            smallint NOT NULL,
    -- failure_reason(…)
    failure_reason    smallint,
    dispute_count     smallint NOT NULL,
    -- When the caller asked: by the gateway's clock if it took the request, else by the chain's at opening.
    initiated_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX mirror_executions_by_caller_id ON mirror_executions (caller, execution_id);
CREATE INDEX mirror_executions_by_caller ON mirror_executions (caller, initiated_at DESC, execution_id DESC);
CREATE INDEX mirror_executions_open_by_agent ON mirror_executions (agent) WHERE status = record_status('open');

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
    -- The number of the program's `DisputeOutcome`. Only Rust reads it.
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

-- Every mirrored account, whatever its kind.
CREATE VIEW mirror_accounts AS
SELECT address, slot, closed_at_slot FROM mirror_config
UNION ALL SELECT address, slot, closed_at_slot FROM mirror_creators
UNION ALL SELECT address, slot, closed_at_slot FROM mirror_agents
UNION ALL SELECT address, slot, closed_at_slot FROM mirror_executions
UNION ALL SELECT address, slot, closed_at_slot FROM mirror_disputes
UNION ALL SELECT address, slot, closed_at_slot FROM mirror_grants;

-- Accounts of the program whose bytes cannot be decoded.
CREATE TABLE mirror_quarantine (
    address     text PRIMARY KEY,
    slot        bigint NOT NULL,
    data        bytea NOT NULL,
    error       text NOT NULL,
    observed_at timestamptz NOT NULL DEFAULT now()
);

-- The slot that the mirror has reached; written in the transaction that writes the rows.
CREATE TABLE mirror_checkpoint (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    slot         bigint NOT NULL,
    genesis_hash text,
    snapshot_at  timestamptz,
    updated_at   timestamptz NOT NULL DEFAULT now()
);

-- Metadata documents. A row holds either a document whose SHA-256 is `sha256`, and then `error` is null, or the
-- reason why there is none and the time of the next attempt.
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

-- The state of the indexer, so that every process can answer GET /v1/status.
CREATE TABLE indexer_heartbeat (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- The chain's confirmed slot at the last heartbeat.
    chain_slot  bigint NOT NULL,
    -- Whether the indexer receives changes.
    streaming   boolean NOT NULL,
    last_change timestamptz,
    at          timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE indexer_audit (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    report   jsonb NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
