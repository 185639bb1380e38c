-- What the indexer says about itself, so that any process can answer GET /v1/status.

CREATE TABLE indexer_heartbeat (
    only_row      boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- The chain's confirmed slot when last asked.
    chain_slot    bigint NOT NULL,
    -- Whether changes are streaming in.
    streaming     boolean NOT NULL,
    last_change   timestamptz,
    at            timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE indexer_audit (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    report   jsonb NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
