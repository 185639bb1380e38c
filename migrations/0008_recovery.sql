-- What recovery needs: which process works on an execution, what was really charged, executions that somebody
-- else settled, and content that still has to be stored.

-- Every gateway process, with a sign of life. The process holds the advisory lock (class of
-- `crtx_store::processes`, `lock_key`) on a connection of its own, so that its end is noticed at once.
CREATE TABLE gateway_processes (
    id          uuid        PRIMARY KEY,
    lock_key    integer     NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    started_at  timestamptz NOT NULL DEFAULT now(),
    beat_at     timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE executions
    -- The process that holds the lease. Null: only the end of the lease says that nobody works on the row.
    ADD COLUMN lease_process uuid,
    -- What the on-chain record says, once it was read: `amount` is what was reserved, and a price that fell
    -- before the opening makes the two differ.
    ADD COLUMN charged_amount bigint CHECK (charged_amount >= 0),
    ADD COLUMN charged_creator_amount bigint CHECK (charged_creator_amount >= 0),
    ADD COLUMN charged_platform_amount bigint CHECK (charged_platform_amount >= 0),
    -- Creator or caller settled it on chain with a result that this gateway does not have.
    ADD COLUMN settled_elsewhere boolean NOT NULL DEFAULT false,
    -- The result could not be written to the content store. `result` is served until it is written.
    ADD COLUMN content_missing boolean NOT NULL DEFAULT false,
    ADD CHECK ((charged_amount IS NULL) = (charged_creator_amount IS NULL)
           AND (charged_amount IS NULL) = (charged_platform_amount IS NULL));

ALTER TABLE executions DROP CONSTRAINT executions_check1;
ALTER TABLE executions ADD CONSTRAINT executions_result_is_whole
    CHECK (state NOT IN ('result_stored', 'settling', 'completed')
           OR (state = 'completed' AND settled_elsewhere)
           OR (result IS NOT NULL AND result_hash IS NOT NULL AND result_signature IS NOT NULL
               AND execution_time_ms IS NOT NULL));

CREATE INDEX executions_by_lease_process ON executions (lease_process)
    WHERE lease_process IS NOT NULL AND state NOT IN ('completed', 'failed');
CREATE INDEX executions_without_content ON executions (result_hash) WHERE content_missing;

CREATE OR REPLACE VIEW execution_records_on_chain AS
SELECT
    m.address AS record,
    m.execution_id,
    m.agent,
    m.caller,
    m.initiated_at,
    CASE
        WHEN m.status = 2 THEN 'completed'
        WHEN m.status = 5 THEN 'disputed'
        WHEN m.status IN (3, 4, 6) THEN 'failed'
        -- The record is open, as far as the mirror has come.
        WHEN e.state IN ('completed', 'failed') THEN e.state
        WHEN e.state IN ('reserved', 'opening', 'pending') THEN 'pending'
        ELSE 'running'
    END AS status,
    CASE
        WHEN m.status <> 1 THEN GREATEST(m.initiated_at, COALESCE(e.finished_at, m.finished_at))
        ELSE e.finished_at
    END AS completed_at,
    -- Charged: nothing after a refund; after an upheld dispute what the compensation left.
    CASE
        WHEN m.status IN (3, 4) OR (m.status = 1 AND e.state IS NOT DISTINCT FROM 'failed') THEN 0
        WHEN m.status = 6 THEN GREATEST(0, m.amount - COALESCE(d.compensation, 0))
        ELSE m.amount
    END AS cost,
    -- Paid: nothing before the settlement.
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN m.creator_amount ELSE 0 END AS creator_amount,
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN m.platform_amount ELSE 0 END AS platform_amount,
    -- Nobody sees a result before it is paid for, nor a result that is not the one that was paid for.
    CASE
        WHEN m.status IN (2, 5, 6) AND e.result_hash IS NOT DISTINCT FROM m.result_hash THEN e.result
        WHEN m.status = 1 AND e.state = 'completed' THEN e.result
    END AS result,
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN COALESCE(m.result_hash, e.result_hash) END
        AS result_hash,
    -- Who settles says what is reported: where the record speaks, it speaks alone.
    CASE WHEN m.status IN (2, 5, 6) THEN m.tokens_used WHEN e.state = 'completed' THEN e.tokens_used END
        AS tokens_used,
    CASE WHEN m.status IN (2, 5, 6) THEN m.execution_time_ms ELSE e.execution_time_ms END AS execution_time_ms,
    CASE
        WHEN m.status IN (2, 5, 6) AND e.result_hash IS NOT DISTINCT FROM m.result_hash THEN e.steps
        WHEN m.status = 1 AND e.state = 'completed' THEN e.steps
    END AS steps,
    m.failure_reason,
    e.error_code,
    e.error_message,
    d.outcome AS dispute_outcome,
    d.raised_at AS dispute_raised_at,
    d.resolved_at AS dispute_resolved_at,
    d.evidence_hash AS dispute_evidence_hash,
    d.evidence_uri AS dispute_evidence_uri,
    d.compensation AS dispute_compensation
FROM mirror_executions m
LEFT JOIN executions e ON e.record = m.address
LEFT JOIN mirror_disputes d ON d.execution = m.address;

-- What the gateway knows and the mirror does not show yet, or what never came to the chain.
CREATE OR REPLACE VIEW execution_records_off_chain (
    record, execution_id, agent, caller, initiated_at, status,
    completed_at, cost, creator_amount, platform_amount, result, result_hash,
    tokens_used, execution_time_ms, steps, failure_reason, error_code, error_message,
    dispute_outcome, dispute_raised_at, dispute_resolved_at, dispute_evidence_hash, dispute_evidence_uri, dispute_compensation
) AS
SELECT
    e.record,
    e.execution_id,
    e.agent,
    e.caller,
    e.created_at,
    CASE
        WHEN e.state IN ('completed', 'failed') THEN e.state
        WHEN e.state IN ('reserved', 'opening', 'pending') THEN 'pending'
        ELSE 'running'
    END,
    e.finished_at,
    CASE WHEN e.state = 'failed' THEN 0 ELSE COALESCE(e.charged_amount, e.amount) END,
    CASE WHEN e.state = 'completed' THEN COALESCE(e.charged_creator_amount, 0) ELSE 0::bigint END,
    CASE WHEN e.state = 'completed' THEN COALESCE(e.charged_platform_amount, 0) ELSE 0::bigint END,
    CASE WHEN e.state = 'completed' THEN e.result END,
    CASE WHEN e.state = 'completed' THEN e.result_hash END,
    CASE WHEN e.state = 'completed' THEN e.tokens_used END,
    e.execution_time_ms,
    CASE WHEN e.state = 'completed' THEN e.steps END,
    e.failure_reason,
    e.error_code,
    e.error_message,
    NULL::smallint, NULL::timestamptz, NULL::timestamptz, NULL::bytea, NULL::text, NULL::bigint
FROM executions e
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record);
