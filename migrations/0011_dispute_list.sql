-- The lists of disputes read `mirror_disputes` itself, in the order of an index for each party and outcome.

CREATE TABLE dispute_totals (
    -- 0: raised by the owner. 1: about its agents. 2: the same without those that it raised itself. 3: all, of nobody.
    role    smallint NOT NULL,
    owner   text NOT NULL,
    outcome smallint NOT NULL,
    n       bigint NOT NULL,
    PRIMARY KEY (role, owner, outcome)
) WITH (fillfactor = 70);

CREATE TABLE dispute_notes (
    raised_by text NOT NULL,
    creator   text,
    outcome   smallint NOT NULL,
    n         bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- The counters that a dispute is in.
CREATE FUNCTION dispute_keys(raised_by text, creator text) RETURNS TABLE (role smallint, owner text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT 0::smallint, raised_by
    UNION ALL SELECT 1::smallint, creator WHERE creator IS NOT NULL
    UNION ALL SELECT 2::smallint, creator WHERE creator <> raised_by
    UNION ALL SELECT 3::smallint, '';
END;

CREATE FUNCTION fill_dispute_totals() RETURNS void LANGUAGE sql AS $$
    INSERT INTO dispute_totals (role, owner, outcome, n)
    SELECT k.role, k.owner, d.outcome, count(*) FROM mirror_disputes d, dispute_keys(d.raised_by, d.creator) k
    GROUP BY k.role, k.owner, d.outcome
$$;
CREATE FUNCTION name_creator_of_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.creator := (SELECT a.creator FROM mirror_agents a WHERE a.address = NEW.agent);
    RETURN NEW;
END
$$;
CREATE TRIGGER name_creator BEFORE INSERT OR UPDATE OF agent ON mirror_disputes FOR EACH ROW
    WHEN (NEW.creator IS NULL) EXECUTE FUNCTION name_creator_of_dispute();

-- The dispute of an earlier opening of the record keeps its row.
CREATE FUNCTION keep_past_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_past mirror_disputes := OLD;
BEGIN
    v_past.address := past_key(OLD.address, OLD.raised_at);
    v_past.closed_at_slot := COALESCE(OLD.closed_at_slot, NEW.slot);
    INSERT INTO mirror_disputes SELECT v_past.*;
    NEW.creator := NULL;
    RETURN NEW;
END
$$;

-- A dispute belongs to the last opening before it was raised.
CREATE FUNCTION name_execution_of_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.execution := COALESCE(
        (SELECT p.address FROM mirror_executions r JOIN mirror_executions p USING (caller, execution_id)
         WHERE r.address = key_address(NEW.execution) AND p.opened_at <= NEW.raised_at
         ORDER BY p.opened_at DESC LIMIT 1),
        NEW.execution);
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_past BEFORE UPDATE ON mirror_disputes FOR EACH ROW
    WHEN (is_next_use(OLD.raised_at, NEW.raised_at) OR OLD.closed_at_slot IS NOT NULL AND OLD.raised_at < NEW.raised_at)
    EXECUTE FUNCTION keep_past_dispute();
CREATE TRIGGER name_execution BEFORE INSERT ON mirror_disputes FOR EACH ROW
    EXECUTE FUNCTION name_execution_of_dispute();

-- What follows from new, changed and lost disputes: the list of executions shows their compensation, and lists of
-- disputes have counters. What did not change cancels out.
CREATE FUNCTION follow_disputes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_was     mirror_disputes[] := '{}';
    v_now     mirror_disputes[] := '{}';
    v_records text[];
BEGIN
    IF TG_OP <> 'DELETE' THEN
        v_now := ARRAY(SELECT i FROM inserted i);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        v_was := ARRAY(SELECT d FROM deleted d);
    END IF;
    INSERT INTO dispute_notes (raised_by, creator, outcome, n)
    SELECT raised_by, creator, outcome, sum(n)
    FROM (SELECT 1 AS n, * FROM unnest(v_now) UNION ALL SELECT -1, * FROM unnest(v_was)) AS c
    GROUP BY raised_by, creator, outcome HAVING sum(n) <> 0;
    v_records := ARRAY(
        SELECT DISTINCT execution
        FROM (SELECT 1 AS n, * FROM unnest(v_now) UNION ALL SELECT -1, * FROM unnest(v_was)) AS c
        GROUP BY address, execution, compensation HAVING sum(n) <> 0 ORDER BY execution);
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
-- Without those that the creator raised itself: a list of both parties shows them once.
CREATE INDEX mirror_disputes_by_other_creator ON mirror_disputes (NULLIF(creator, raised_by), outcome, raised_at, address)
    WHERE NULLIF(creator, raised_by) IS NOT NULL;
CREATE INDEX mirror_disputes_by_outcome ON mirror_disputes (outcome, raised_at, address);
CREATE INDEX mirror_disputes_without_creator ON mirror_disputes (agent) WHERE creator IS NULL;

-- The rows of each list, in the roles of `dispute_totals`. Without conditions, so that PostgreSQL reads one of these
-- parts in the order of its index.
CREATE VIEW dispute_list_rows AS
SELECT 0::smallint AS role, raised_by AS owner, outcome, raised_at, address, execution, creator FROM mirror_disputes
UNION ALL
SELECT 1::smallint, creator, outcome, raised_at, address, execution, creator FROM mirror_disputes
UNION ALL
SELECT 2::smallint, NULLIF(creator, raised_by), outcome, raised_at, address, execution, creator FROM mirror_disputes
UNION ALL
SELECT 3::smallint, '', outcome, raised_at, address, execution, creator FROM mirror_disputes;

-- A dispute as its parties and the resolver see it: the fields of `crtx_store::reads::DisputeDetails`.
CREATE VIEW shown_disputes AS
SELECT d.address AS key, key_address(d.address) AS dispute, key_address(d.execution) AS execution_record, e.execution_id, d.agent AS agent_id,
       COALESCE(a.name, (SELECT m.name FROM agent_metadata m WHERE m.agent = d.agent AND m.error IS NULL
                         ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1), d.agent)
           AS agent_name,
       e.caller, COALESCE(d.creator, a.creator) AS creator, e.amount AS amount_usdc,
       'sha256:' || encode(d.evidence_hash, 'hex') AS evidence_hash, d.evidence_uri, d.raised_at,
       'sha256:' || encode(d.answer_hash, 'hex') AS answer_hash, d.answer_uri, d.answered_at, d.outcome AS status,
       d.resolved_at, 'sha256:' || encode(d.resolution_hash, 'hex') AS resolution_hash, d.resolution_uri,
       d.resolved_by, d.bond AS bond_usdc, d.slash_amount AS slash_usdc,
       d.compensation AS compensation_usdc, GREATEST(d.slash_amount - d.compensation, 0) AS penalty_usdc
FROM mirror_disputes d
JOIN mirror_executions e ON e.address = d.execution
LEFT JOIN mirror_agents a ON a.address = d.agent
WHERE COALESCE(d.creator, a.creator) IS NOT NULL;
