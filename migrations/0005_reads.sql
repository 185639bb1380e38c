-- What the read API shows: the rules of visibility, status and cost. `crtx_store::reads` selects from these views.
-- PostgreSQL plans a view as if its text stood in the statement, so the indexes of the tables apply.

-- Listings that anybody may see: active or paused, and not closed.
CREATE VIEW shown_agents AS
SELECT address, creator, result_key, metadata_hash, metadata_uri, price, total_executions, successful_executions,
       disputed_executions, success_rate, avg_execution_time_ms, timeout_seconds, status, created_at, name
FROM mirror_agents
WHERE status IN (agent_status('active'), agent_status('paused')) AND closed_at_slot IS NULL;

-- Listings in lists: active, not closed, and with a checked document. The partial indexes of `mirror_agents` have
-- the same condition.
CREATE VIEW listed_agents AS
SELECT address, name, tagline, tags, price, total_executions, success_rate, avg_execution_time_ms, creator, status,
       created_at
FROM mirror_agents
WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;

-- The status of an execution whose record is open or not on the chain, from the state of the gateway's row. Without
-- a row another gateway works on it.
CREATE FUNCTION status_of_state(state text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN state IN ('completed', 'failed') THEN state
    WHEN state IN ('reserved', 'opening', 'pending') THEN 'pending'
    ELSE 'running'
END;

-- Executions as their caller sees them, in two halves, so that each is read in the order of its index. The chain
-- decides what happened to the money. The gateway's row adds what the chain does not have: progress, the text of the
-- result, and times finer than a second.

-- Executions with an on-chain record.
CREATE VIEW shown_executions_on_chain AS
SELECT
    m.address AS record,
    m.execution_id,
    m.agent,
    m.caller,
    m.initiated_at,
    CASE
        WHEN m.status = record_status('completed') THEN 'completed'
        WHEN m.status = record_status('disputed') THEN 'disputed'
        WHEN m.status IN (record_status('failed'), record_status('expired'), record_status('overturned')) THEN 'failed'
        -- The record is open, as far as the mirror shows.
        ELSE status_of_state(e.state)
    END AS status,
    CASE
        WHEN NOT x.open THEN GREATEST(m.initiated_at, COALESCE(e.finished_at, m.finished_at))
        ELSE e.finished_at
    END AS completed_at,
    -- The amount; 0 after a refund; after an upheld dispute what is left of it after the compensation.
    CASE
        WHEN x.refunded THEN 0
        WHEN m.status = record_status('overturned') THEN GREATEST(0, m.amount - COALESCE(d.compensation, 0))
        ELSE m.amount
    END AS cost,
    -- What was paid: 0 until the settlement.
    CASE WHEN x.paid THEN m.creator_amount ELSE 0 END AS creator_amount,
    CASE WHEN x.paid THEN m.platform_amount ELSE 0 END AS platform_amount,
    -- Shown only once it is paid for, and only if it is the result that was paid for.
    CASE WHEN x.delivered THEN e.result END AS result,
    CASE WHEN x.paid THEN COALESCE(m.result_hash, e.result_hash) END AS result_hash,
    -- A settled record reports these itself.
    CASE WHEN x.settled THEN m.tokens_used WHEN e.state = 'completed' THEN e.tokens_used END AS tokens_used,
    CASE WHEN x.settled THEN m.execution_time_ms ELSE e.execution_time_ms END AS execution_time_ms,
    CASE WHEN x.delivered THEN e.steps END AS steps,
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
CROSS JOIN LATERAL (
    SELECT m.status = record_status('open') AS open,
           m.status IN (record_status('completed'), record_status('disputed'), record_status('overturned')) AS settled
) AS r
CROSS JOIN LATERAL (
    SELECT r.open,
           r.settled,
           m.status IN (record_status('failed'), record_status('expired'))
               OR (r.open AND e.state IS NOT DISTINCT FROM 'failed') AS refunded,
           r.settled OR e.state = 'completed' AS paid,
           (r.settled AND e.result_hash IS NOT DISTINCT FROM m.result_hash)
               OR (r.open AND e.state = 'completed') AS delivered
) AS x;

-- Executions that the mirror does not show: not opened yet, or never opened.
CREATE VIEW shown_executions_off_chain AS
SELECT
    e.record,
    e.execution_id,
    e.agent,
    e.caller,
    e.created_at AS initiated_at,
    status_of_state(e.state) AS status,
    e.finished_at AS completed_at,
    CASE WHEN e.state = 'failed' THEN 0 ELSE COALESCE(e.charged_amount, e.amount) END AS cost,
    CASE WHEN e.state = 'completed' THEN COALESCE(e.charged_creator_amount, 0) ELSE 0::bigint END AS creator_amount,
    CASE WHEN e.state = 'completed' THEN COALESCE(e.charged_platform_amount, 0) ELSE 0::bigint END AS platform_amount,
    CASE WHEN e.state = 'completed' THEN e.result END AS result,
    CASE WHEN e.state = 'completed' THEN e.result_hash END AS result_hash,
    CASE WHEN e.state = 'completed' THEN e.tokens_used END AS tokens_used,
    e.execution_time_ms,
    CASE WHEN e.state = 'completed' THEN e.steps END AS steps,
    e.failure_reason,
    e.error_code,
    e.error_message,
    NULL::smallint AS dispute_outcome,
    NULL::timestamptz AS dispute_raised_at,
    NULL::timestamptz AS dispute_resolved_at,
    NULL::bytea AS dispute_evidence_hash,
    NULL::text AS dispute_evidence_uri,
    NULL::bigint AS dispute_compensation
FROM executions e
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record);

CREATE VIEW shown_executions AS
SELECT * FROM shown_executions_on_chain
UNION ALL
SELECT * FROM shown_executions_off_chain;
