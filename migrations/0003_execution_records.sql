-- What a caller sees of an execution: the chain's record and the gateway's row, whichever of them exists.
-- The chain decides what has become of the money; the gateway knows what the chain does not: what is
-- being worked on, the result's text, and times finer than a second.

CREATE VIEW execution_records AS
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
    CASE WHEN m.status IN (3, 4) OR (m.status = 1 AND e.state IS NOT DISTINCT FROM 'failed')
        THEN 0 ELSE m.creator_amount END AS creator_amount,
    CASE WHEN m.status IN (3, 4) OR (m.status = 1 AND e.state IS NOT DISTINCT FROM 'failed')
        THEN 0 ELSE m.platform_amount END AS platform_amount,
    -- Nobody sees a result before it is paid for.
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN e.result END AS result,
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN COALESCE(m.result_hash, e.result_hash) END
        AS result_hash,
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN COALESCE(m.tokens_used, e.tokens_used) END
        AS tokens_used,
    CASE WHEN m.status IN (2, 5, 6) THEN m.execution_time_ms ELSE e.execution_time_ms END AS execution_time_ms,
    CASE WHEN m.status IN (2, 5, 6) OR e.state = 'completed' THEN e.steps END AS steps,
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
LEFT JOIN mirror_disputes d ON d.execution = m.address
UNION ALL
-- Not on chain yet, or never.
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
    CASE WHEN e.state = 'failed' THEN 0 ELSE e.amount END,
    0,
    0,
    CASE WHEN e.state = 'completed' THEN e.result END,
    CASE WHEN e.state = 'completed' THEN e.result_hash END,
    CASE WHEN e.state = 'completed' THEN e.tokens_used END,
    e.execution_time_ms,
    CASE WHEN e.state = 'completed' THEN e.steps END,
    e.failure_reason,
    e.error_code,
    e.error_message,
    NULL, NULL, NULL, NULL, NULL, NULL
FROM executions e
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record);

-- The gateway's half of a caller's list.
CREATE INDEX executions_by_caller_and_time ON executions (caller, created_at DESC, execution_id DESC);
