-- The gateway's durable rows: every paid call from reservation to settlement or refund, and every
-- transaction that was ever signed for it. Written by `crtx_store::executions` alone.
--
-- Texts that callers and creators wrote may hold U+0000, which PostgreSQL's `text` and `jsonb` refuse:
-- they are kept as `bytea` (UTF-8) or `json`.

CREATE TABLE executions (
    -- Address of the on-chain record (base58): wallet and execution id, so unique where a UUID is not.
    record              text        PRIMARY KEY,
    execution_id        uuid        NOT NULL,
    caller              text        NOT NULL,
    agent               text        NOT NULL,
    session_key         text        NOT NULL,
    state               text        NOT NULL CHECK (state IN (
                            'reserved', 'opening', 'pending', 'running', 'result_stored', 'settling',
                            'completed', 'refunding', 'failed')),
    idempotency_key     text,
    -- SHA-256 of the canonical {agent_id, task, parameters, async}: what an idempotency key is bound to.
    body_hash           bytea       NOT NULL CHECK (octet_length(body_hash) = 32),
    is_async            boolean     NOT NULL,
    -- {task, parameters} as they are sent to the creator.
    request             json        NOT NULL,
    -- What the on-chain record commits to.
    request_hash        bytea       NOT NULL CHECK (octet_length(request_hash) = 32),
    -- The terms at reservation; the on-chain record repeats amount and time-out at opening.
    amount              bigint      NOT NULL CHECK (amount >= 0),
    timeout_seconds     integer     NOT NULL CHECK (timeout_seconds > 0),
    endpoint            text        NOT NULL,

    -- What the creator delivered, after every check.
    result              bytea,
    result_hash         bytea       CHECK (octet_length(result_hash) = 32),
    result_signature    bytea       CHECK (octet_length(result_signature) = 64),
    tokens_used         bigint      CHECK (tokens_used >= 0),
    execution_time_ms   bigint      CHECK (execution_time_ms >= 0),
    steps               json,

    -- Why it failed: the program's reason number, and the answer that the caller gets.
    failure_reason      smallint    CHECK (failure_reason BETWEEN 1 AND 4),
    error_status        smallint    CHECK (error_status BETWEEN 400 AND 599),
    error_code          text,
    error_message       text,

    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    opened_at           timestamptz,
    dispatched_at       timestamptz,
    finished_at         timestamptz,

    -- Who works on the row, and until when others keep off.
    lease_owner         uuid,
    lease_until         timestamptz,

    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (state NOT IN ('result_stored', 'settling', 'completed')
           OR (result IS NOT NULL AND result_hash IS NOT NULL AND result_signature IS NOT NULL
               AND execution_time_ms IS NOT NULL)),
    CHECK (state NOT IN ('refunding', 'failed')
           OR (error_status IS NOT NULL AND error_code IS NOT NULL AND error_message IS NOT NULL)),
    CHECK ((state IN ('completed', 'failed')) = (finished_at IS NOT NULL))
);

-- One call per wallet and execution id (an idempotency key determines the id).
CREATE UNIQUE INDEX executions_by_caller_and_id ON executions (caller, execution_id);

-- What a worker looks for: unfinished rows, oldest lease first.
CREATE INDEX executions_unfinished ON executions (lease_until NULLS FIRST)
    WHERE state NOT IN ('completed', 'failed');

CREATE TABLE execution_transactions (
    -- Base58 of the transaction's first signature.
    signature               text        PRIMARY KEY,
    record                  text        NOT NULL REFERENCES executions (record),
    kind                    text        NOT NULL CHECK (kind IN ('open', 'complete', 'fail')),
    -- The signed bytes, stored before they are sent for the first time.
    signed_transaction      bytea       NOT NULL,
    last_valid_block_height bigint      NOT NULL CHECK (last_valid_block_height >= 0),
    -- `unknown` until the chain has spoken: landed, landed with an error, or can no longer land.
    outcome                 text        NOT NULL DEFAULT 'unknown'
                                        CHECK (outcome IN ('unknown', 'confirmed', 'rejected', 'expired')),
    slot                    bigint      CHECK (slot >= 0),
    detail                  text,
    created_at              timestamptz NOT NULL DEFAULT now(),
    resolved_at             timestamptz,

    CHECK ((outcome = 'unknown') = (resolved_at IS NULL))
);

CREATE INDEX execution_transactions_by_record ON execution_transactions (record, created_at);
