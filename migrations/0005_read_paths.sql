-- Lists that stop reading when the page is full.
--
-- A listing's row carries what lists show of its document, so that one index delivers a page in order; the
-- two halves of a caller's executions are views of their own, so that each is read in the order of its index.

ALTER TABLE mirror_agents
    -- Of the document whose SHA-256 is `metadata_hash`; null while there is none, and then nothing is shown.
    ADD COLUMN name text,
    ADD COLUMN tagline text,
    ADD COLUMN tags text[],
    ADD CHECK ((name IS NULL) = (tagline IS NULL) AND (name IS NULL) = (tags IS NULL));

UPDATE mirror_agents a SET name = m.name, tagline = m.tagline, tags = m.tags
FROM agent_metadata m
WHERE m.agent = a.address AND m.sha256 = a.metadata_hash AND m.error IS NULL;

DROP INDEX mirror_agents_by_executions, mirror_agents_by_success, mirror_agents_by_price,
    mirror_agents_by_price_desc, mirror_agents_by_creation, agent_metadata_tags;
CREATE INDEX mirror_agents_by_executions ON mirror_agents (total_executions DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_success ON mirror_agents (success_rate DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_price ON mirror_agents (price, address)
    WHERE status = 1 AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_price_desc ON mirror_agents (price DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_by_creation ON mirror_agents (created_at DESC, address)
    WHERE status = 1 AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_tags ON mirror_agents USING gin (tags)
    WHERE status = 1 AND closed_at_slot IS NULL AND name IS NOT NULL;
CREATE INDEX mirror_agents_without_document ON mirror_agents (address)
    WHERE name IS NULL AND closed_at_slot IS NULL;

DROP VIEW execution_records;

-- The chain's record, with what the gateway knows of it.
CREATE VIEW execution_records_on_chain AS
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
LEFT JOIN mirror_disputes d ON d.execution = m.address;

-- What the gateway knows and the chain does not: not opened yet, or never.
CREATE VIEW execution_records_off_chain (
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
    CASE WHEN e.state = 'failed' THEN 0 ELSE e.amount END,
    0::bigint,
    0::bigint,
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

CREATE VIEW execution_records AS
SELECT * FROM execution_records_on_chain
UNION ALL
SELECT * FROM execution_records_off_chain;
