-- An open execution told the parts that creator and platform would get as if they had them. Nothing is paid before
-- the settlement, so nothing is told as paid before it. All else is as it was.
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
LEFT JOIN mirror_disputes d ON d.execution = m.address;
