-- The gateway's tables: every paid call from reservation to settlement or refund, every transaction that
-- was signed for it, and the processes that work on it.
--
-- Text of callers and creators may contain U+0000, which `text` and `jsonb` reject. It is kept as `bytea` (UTF-8) or
-- `json`.

-- An execution changes its state five times. The free space in each page (`fillfactor`) takes the new versions of a
-- row, and no index names `state`: so a step changes no index. An execution is under way while `finished_at` is null.
CREATE TABLE executions (
    -- Address of the on-chain record. It depends on wallet and execution id; the execution id alone is not unique. The
    -- row of an earlier opening of the address has its `past_key`.
    record                  text        PRIMARY KEY,
    execution_id            uuid        NOT NULL,
    caller                  text        NOT NULL,
    agent                   text        NOT NULL,
    -- Null: the wallet opened the execution itself and handed it over. A comparison with null is not true, so no limit
    -- of a key counts it.
    session_key             text,
    -- The states of `crtx_store::executions::State`.
    state                   text        NOT NULL,
    idempotency_key         text,
    -- SHA-256 of the canonical {agent_id, task, parameters, async}; the idempotency key is bound to it.
    body_hash               bytea       NOT NULL,
    is_async                boolean     NOT NULL,
    -- {task, parameters} as they are sent to the creator.
    request                 json        NOT NULL,
    -- The hash of the request in the on-chain record.
    request_hash            bytea       NOT NULL,
    -- The terms at reservation. The record has its own amount and timeout, read by the program at the opening.
    amount                  bigint      NOT NULL,
    timeout_seconds         bigint      NOT NULL,
    endpoint                text        NOT NULL,

    -- The creator's result, after every check.
    result                  bytea,
    result_hash             bytea,
    result_signature        bytea,
    tokens_used             bigint,
    execution_time_ms       bigint,
    steps                   json,

    -- What the on-chain record charges; null until the record is read. It differs from `amount` if the price fell
    -- before the opening.
    charged_amount          bigint,
    charged_creator_amount  bigint,
    charged_platform_amount bigint,
    -- Creator or caller settled it on chain with a result that this gateway does not have.
    settled_elsewhere       boolean     NOT NULL DEFAULT false,

    -- Why it failed: failure_reason(…), and the answer to the caller.
    failure_reason          smallint,
    -- Of the agent, over the text of the failure (`crtx_protocol::failure_text`): it proves that the agent failed.
    failure_signature       bytea,
    error_status            integer,
    error_code              text,
    error_message           text,

    created_at              timestamptz NOT NULL DEFAULT now(),
    opened_at               timestamptz,
    dispatched_at           timestamptz,
    finished_at             timestamptz,

    -- The lease: no other worker takes the row before `lease_until`.
    lease_owner             uuid,
    lease_until             timestamptz,
    -- The process that holds the lease. Null: only `lease_until` ends it.
    lease_process           uuid,
    -- Over the text of the call (`crtx_protocol::call_text`). Null unless the execution demands it; then it is what
    -- settles.
    result_call_signature   bytea
) WITH (fillfactor = 60);

-- The rules of a row. One check that calls a function instead of nineteen checks: PostgreSQL parses each check again
-- for every statement, which took a third of the time of all steps of a call. A function is parsed once per
-- connection. As in a check, null means that a rule does not apply.
CREATE FUNCTION execution_is_sound(e executions) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN e.state IN ('reserved', 'opening', 'pending', 'running', 'result_stored', 'settling', 'completed',
                       'refunding', 'failed')
        AND octet_length(e.body_hash) = 32
        AND octet_length(e.request_hash) = 32
        AND octet_length(e.result_hash) = 32
        AND octet_length(e.result_signature) = 64
        AND octet_length(e.result_call_signature) = 64
        AND octet_length(e.failure_signature) = 64
        AND e.amount >= 0
        AND e.timeout_seconds > 0
        AND e.tokens_used >= 0
        AND e.execution_time_ms >= 0
        -- The amounts of the record are known together or not at all.
        AND e.charged_amount >= 0
        AND e.charged_creator_amount >= 0
        AND e.charged_platform_amount >= 0
        AND (e.charged_amount IS NULL) = (e.charged_creator_amount IS NULL)
        AND (e.charged_amount IS NULL) = (e.charged_platform_amount IS NULL)
        AND e.failure_reason IN (failure_reason('creator_failed'), failure_reason('timeout'),
                                 failure_reason('invalid_response'), failure_reason('expired'),
                                 failure_reason('interrupted'))
        AND e.error_status BETWEEN 400 AND 599
        AND (e.lease_owner IS NULL) = (e.lease_until IS NULL)
        AND (e.state IN ('completed', 'failed')) = (e.finished_at IS NOT NULL)
        -- A result is complete, unless the execution was settled with another one.
        AND (e.state NOT IN ('result_stored', 'settling', 'completed')
             OR (e.state = 'completed' AND e.settled_elsewhere)
             OR (e.result IS NOT NULL AND e.result_hash IS NOT NULL AND e.result_signature IS NOT NULL
                 AND e.execution_time_ms IS NOT NULL))
        AND (e.state NOT IN ('refunding', 'failed')
             OR (e.error_status IS NOT NULL AND e.error_code IS NOT NULL AND e.error_message IS NOT NULL));
END
$$;

ALTER TABLE executions ADD CONSTRAINT executions_are_sound CHECK (execution_is_sound(executions));

-- One call per wallet and execution id, unless the address was opened again; an idempotency key determines the id.
CREATE INDEX executions_by_caller_and_id ON executions (caller, execution_id);
-- For workers: unfinished rows, oldest lease first. They are few, so those of a dead process are found in it, too.
CREATE INDEX executions_unfinished ON executions (lease_until NULLS FIRST) WHERE finished_at IS NULL;
-- For the limits of `admit_call`: calls under way by wallet and by agent, and a wallet's calls that ended after a
-- given time.
CREATE INDEX executions_under_way_by_caller ON executions (caller) WHERE finished_at IS NULL;
CREATE INDEX executions_under_way_by_agent ON executions (agent) WHERE finished_at IS NULL;
CREATE INDEX executions_finished_by_caller ON executions (caller, finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE execution_transactions (
    -- Base58 of the transaction's first signature.
    signature               text        NOT NULL,
    -- Of a row of `executions`. No foreign key: each statement that writes a transaction changes that row as well, and the
    -- check of a key would be two more queries for each call.
    record                  text        NOT NULL,
    kind                    text        NOT NULL CHECK (kind IN ('open', 'complete', 'fail')),
    -- The signed bytes, stored before they are sent for the first time. One transaction can settle several executions:
    -- then one of their rows has them.
    signed_transaction      bytea,
    last_valid_block_height bigint      NOT NULL CHECK (last_valid_block_height >= 0),
    -- `confirmed`: landed. `rejected`: landed with an error. `expired`: can no longer land.
    outcome                 text        NOT NULL DEFAULT 'unknown'
                                        CHECK (outcome IN ('unknown', 'confirmed', 'rejected', 'expired')),
    slot                    bigint      CHECK (slot >= 0),
    detail                  text,
    created_at              timestamptz NOT NULL DEFAULT now(),
    resolved_at             timestamptz,

    PRIMARY KEY (signature, record),
    CHECK ((outcome = 'unknown') = (resolved_at IS NULL))
);
CREATE INDEX execution_transactions_by_record ON execution_transactions (record, created_at);

-- Results that the content store does not have yet. A table of its own: an index on `executions.result_hash` would
-- make every stored result change all indexes of `executions`.
CREATE TABLE missing_content (
    record text  PRIMARY KEY REFERENCES executions (record) ON DELETE CASCADE ON UPDATE CASCADE,
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32)
);
CREATE INDEX missing_content_by_hash ON missing_content (sha256);

-- Gateway processes and their signs of life. Each process holds an advisory lock with the number `lock_key` on a
-- connection of its own, so that its end is noticed at once (`crtx_store::processes`).
CREATE TABLE gateway_processes (
    id         uuid        PRIMARY KEY,
    lock_key   integer     NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    beat_at    timestamptz NOT NULL DEFAULT now()
);

-- The account that pays the fees of each gateway, so that every process can answer GET /v1/status.
CREATE TABLE fee_payers (
    address    text        PRIMARY KEY,
    lamports   bigint      NOT NULL CHECK (lamports >= 0),
    state      text        NOT NULL CHECK (state IN ('ok', 'low', 'empty')),
    -- Calls that the balance pays for before new ones are refused.
    calls_left bigint      NOT NULL CHECK (calls_left >= 0),
    -- In words, what is wrong with the account that gets the marketplace's fees.
    treasury_problem text,
    at         timestamptz NOT NULL DEFAULT now()
);

-- What is shown of an execution, from what the chain and the gateway's row say. `record`: record_status(…); null if the
-- mirror has no record. The view below and the list of executions use these rules.
CREATE FUNCTION shown_status(record smallint, state text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN record = record_status('completed') THEN 'completed'
    WHEN record = record_status('disputed') THEN 'disputed'
    WHEN record IN (record_status('failed'), record_status('expired'), record_status('overturned')) THEN 'failed'
    -- The record is open, as far as the mirror shows, or not there. Without a row another gateway works on it.
    WHEN state IN ('completed', 'failed') THEN state
    WHEN state IN ('reserved', 'opening', 'pending') THEN 'pending'
    ELSE 'running'
END;

-- The amount; 0 after a refund; after an upheld dispute what is left of it after the compensation.
CREATE FUNCTION shown_cost(record smallint, amount bigint, state text, compensation bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN record IN (record_status('failed'), record_status('expired')) THEN 0
    WHEN (record IS NULL OR record = record_status('open')) AND state = 'failed' THEN 0
    WHEN record = record_status('overturned') THEN GREATEST(0, amount - COALESCE(compensation, 0))
    ELSE amount
END;

CREATE FUNCTION shown_end(
    record smallint, initiated_at timestamptz, record_finished_at timestamptz, finished_at timestamptz
) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN record <> record_status('open') THEN GREATEST(initiated_at, COALESCE(finished_at, record_finished_at))
    ELSE finished_at
END;

-- Executions that the mirror does not show: not opened yet, or never opened.
CREATE VIEW shown_executions_off_chain AS
SELECT e.record, e.execution_id, e.caller, e.agent, shown_status(NULL, e.state) AS status,
       shown_cost(NULL, COALESCE(e.charged_amount, e.amount), e.state, NULL) AS cost, e.created_at AS initiated_at,
       e.finished_at AS completed_at
FROM executions e
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record);

-- Executions as their caller sees them. The chain decides what happened to the money. The gateway's row adds what the
-- chain does not have: progress, the text of the result, and times finer than a second.
CREATE VIEW shown_executions AS
SELECT
    k.record,
    k.execution_id,
    k.agent,
    k.caller,
    COALESCE(m.initiated_at, e.created_at) AS initiated_at,
    shown_status(m.status, e.state) AS status,
    shown_end(m.status, m.initiated_at, m.finished_at, e.finished_at) AS completed_at,
    shown_cost(m.status, COALESCE(m.amount, e.charged_amount, e.amount), e.state, d.compensation) AS cost,
    -- What was paid: 0 until the settlement.
    CASE WHEN x.paid THEN COALESCE(m.creator_amount, e.charged_creator_amount, 0) ELSE 0 END AS creator_amount,
    CASE WHEN x.paid THEN COALESCE(m.platform_amount, e.charged_platform_amount, 0) ELSE 0 END AS platform_amount,
    -- Shown only once it is paid for, and only if it is the result that was paid for.
    CASE WHEN x.delivered THEN e.result END AS result,
    CASE WHEN x.paid THEN COALESCE(m.result_hash, e.result_hash) END AS result_hash,
    -- A settled record reports these itself.
    CASE WHEN x.settled THEN m.tokens_used WHEN e.state = 'completed' THEN e.tokens_used END AS tokens_used,
    CASE WHEN x.settled THEN m.execution_time_ms ELSE e.execution_time_ms END AS execution_time_ms,
    CASE WHEN x.delivered THEN e.steps END AS steps,
    CASE WHEN m.address IS NULL THEN e.failure_reason ELSE m.failure_reason END AS failure_reason,
    e.error_code,
    e.error_message,
    -- The fields of `crtx_store::reads::ExecutionDispute`.
    CASE WHEN d.address IS NOT NULL THEN jsonb_build_object(
        'status', d.outcome, 'raised_at', d.raised_at, 'resolved_at', d.resolved_at,
        'evidence_hash', 'sha256:' || encode(d.evidence_hash, 'hex'), 'evidence_uri', d.evidence_uri,
        'answer_hash', 'sha256:' || encode(d.answer_hash, 'hex'), 'answer_uri', d.answer_uri,
        'answered_at', d.answered_at, 'compensation_usdc', d.compensation,
        'penalty_usdc', d.slash_amount - d.compensation)
    END AS dispute,
    m.settled_by,
    m.binding
FROM (SELECT address AS record, execution_id, agent, caller FROM mirror_executions
      UNION ALL SELECT record, execution_id, agent, caller FROM shown_executions_off_chain) AS k
LEFT JOIN mirror_executions m ON m.address = k.record
LEFT JOIN executions e ON e.record = k.record
LEFT JOIN mirror_disputes d ON d.execution = m.address
CROSS JOIN LATERAL (SELECT is_settled(m.status) AS settled, e.state = 'completed' AS completed) AS r
CROSS JOIN LATERAL (
    SELECT r.settled,
           r.settled OR r.completed AS paid,
           (r.settled AND e.result_hash IS NOT DISTINCT FROM m.result_hash)
               -- The record is open, as far as the mirror shows, or not there.
               OR (COALESCE(m.status = record_status('open'), true) AND r.completed) AS delivered
) AS x;
