-- The lists of disputes read `mirror_disputes` itself, in the order of an index for each party and outcome. A dispute costs
-- a paid call and rent, so nobody has so many that their number has to be kept.

CREATE FUNCTION name_creator_of_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.creator := (SELECT a.creator FROM mirror_agents a WHERE a.address = NEW.agent);
    RETURN NEW;
END
$$;
CREATE TRIGGER name_creator BEFORE INSERT OR UPDATE OF agent ON mirror_disputes FOR EACH ROW
    WHEN (NEW.creator IS NULL) EXECUTE FUNCTION name_creator_of_dispute();

-- The list of executions shows the compensation of their disputes. The function that makes the change switches the joins
-- off.
CREATE FUNCTION follow_disputes() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = on SET enable_mergejoin = on AS $$
DECLARE
    v_records text[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        v_records := ARRAY(SELECT execution FROM inserted ORDER BY execution);
    ELSIF TG_OP = 'DELETE' THEN
        v_records := ARRAY(SELECT execution FROM deleted ORDER BY execution);
    ELSE
        v_records := ARRAY(
            SELECT changed.execution
            FROM inserted u JOIN deleted o ON o.address = u.address
            CROSS JOIN LATERAL (VALUES (o.execution), (u.execution)) AS changed (execution)
            WHERE (o.compensation, o.execution) IS DISTINCT FROM (u.compensation, u.execution)
            GROUP BY changed.execution ORDER BY changed.execution);
    END IF;
    -- An upsert is an insertion as well, often of nothing.
    IF cardinality(v_records) > 0 THEN
        PERFORM refresh_execution_list(v_records, false, TG_OP <> 'INSERT');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER follow_inserted AFTER INSERT ON mirror_disputes
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION follow_disputes();
CREATE TRIGGER follow_deleted AFTER DELETE ON mirror_disputes
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION follow_disputes();
CREATE TRIGGER follow_updated AFTER UPDATE ON mirror_disputes
    REFERENCING OLD TABLE AS deleted NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION follow_disputes();

CREATE INDEX mirror_disputes_by_caller ON mirror_disputes (raised_by, outcome, raised_at, address);
CREATE INDEX mirror_disputes_by_creator ON mirror_disputes (creator, outcome, raised_at, address)
    WHERE creator IS NOT NULL;
CREATE INDEX mirror_disputes_by_other_creator ON mirror_disputes (other_creator, outcome, raised_at, address)
    WHERE other_creator IS NOT NULL;
CREATE INDEX mirror_disputes_by_outcome ON mirror_disputes (outcome, raised_at, address);
CREATE INDEX mirror_disputes_without_creator ON mirror_disputes (agent) WHERE creator IS NULL;

-- The rows of each list, by the role of its owner. 0: it raised them. 1: they are about its agents. 2: the same without
-- those that it raised itself. 3: all, of nobody. Without conditions, so that PostgreSQL reads one of these parts in the
-- order of its index.
CREATE VIEW dispute_list_rows AS
SELECT 0::smallint AS role, raised_by AS owner, outcome, raised_at, address, execution, creator FROM mirror_disputes
UNION ALL
SELECT 1::smallint, creator, outcome, raised_at, address, execution, creator FROM mirror_disputes
UNION ALL
SELECT 2::smallint, other_creator, outcome, raised_at, address, execution, creator FROM mirror_disputes
UNION ALL
SELECT 3::smallint, '', outcome, raised_at, address, execution, creator FROM mirror_disputes;

-- A dispute as its parties and the resolver see it: the fields of `crtx_store::reads::DisputeDetails`.
CREATE VIEW shown_disputes AS
SELECT d.address, d.execution AS record, e.execution_id, d.agent,
       COALESCE(a.name, (SELECT m.name FROM agent_metadata m WHERE m.agent = d.agent AND m.error IS NULL
                         ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1), d.agent)
           AS agent_name,
       e.caller, COALESCE(d.creator, a.creator) AS creator, e.amount,
       'sha256:' || encode(d.evidence_hash, 'hex') AS evidence_hash, d.evidence_uri, d.raised_at,
       'sha256:' || encode(d.answer_hash, 'hex') AS answer_hash, d.answer_uri, d.answered_at, d.outcome, d.resolved_at,
       'sha256:' || encode(d.resolution_hash, 'hex') AS resolution_hash, d.slash_amount AS slash, d.compensation
FROM mirror_disputes d
JOIN mirror_executions e ON e.address = d.execution
LEFT JOIN mirror_agents a ON a.address = d.agent
WHERE COALESCE(d.creator, a.creator) IS NOT NULL;
