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
    n         smallint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX dispute_notes_by_caller ON dispute_notes (raised_by);
CREATE INDEX dispute_notes_by_creator ON dispute_notes (creator) WHERE creator IS NOT NULL;

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

CREATE FUNCTION note_inserted_disputes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dispute_notes (raised_by, creator, outcome, n) SELECT raised_by, creator, outcome, 1 FROM inserted;
    RETURN NULL;
END
$$;
CREATE FUNCTION note_deleted_disputes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO dispute_notes (raised_by, creator, outcome, n) SELECT raised_by, creator, outcome, -1 FROM deleted;
    RETURN NULL;
END
$$;
-- The function that makes the change switches these joins off.
CREATE FUNCTION note_updated_disputes() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = on SET enable_mergejoin = on AS $$
BEGIN
    INSERT INTO dispute_notes (raised_by, creator, outcome, n)
    SELECT c.raised_by, c.creator, c.outcome, c.n
    FROM updated u
    JOIN outdated o ON o.address = u.address
    CROSS JOIN LATERAL (VALUES (o.raised_by, o.creator, o.outcome, -1::smallint),
                               (u.raised_by, u.creator, u.outcome, 1::smallint)) AS c (raised_by, creator, outcome, n)
    WHERE (o.raised_by, o.creator, o.outcome) IS DISTINCT FROM (u.raised_by, u.creator, u.outcome);
    RETURN NULL;
END
$$;
CREATE TRIGGER note_inserted AFTER INSERT ON mirror_disputes
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_inserted_disputes();
CREATE TRIGGER note_deleted AFTER DELETE ON mirror_disputes
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_deleted_disputes();
CREATE TRIGGER note_updated AFTER UPDATE ON mirror_disputes
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated
    FOR EACH STATEMENT EXECUTE FUNCTION note_updated_disputes();

CREATE INDEX mirror_disputes_by_caller ON mirror_disputes (raised_by, outcome, raised_at, address);
CREATE INDEX mirror_disputes_by_creator ON mirror_disputes (creator, outcome, raised_at, address)
    WHERE creator IS NOT NULL;
CREATE INDEX mirror_disputes_by_other_creator ON mirror_disputes (other_creator, outcome, raised_at, address)
    WHERE other_creator IS NOT NULL;
CREATE INDEX mirror_disputes_by_outcome ON mirror_disputes (outcome, raised_at, address);
CREATE INDEX mirror_disputes_without_creator ON mirror_disputes (agent) WHERE creator IS NULL;
