-- The list of executions as one table, with counters.
--
-- Every row is kept in the transaction that writes its sources. Counters are not: each transaction only appends notes,
-- and one task at a time (`fold_list_notes`) adds them to the counters. So no two transactions wait for a counter. A
-- reader adds the notes that are not folded yet, so a total is exact at every moment.

-- Statuses in the list: the place of the name in `crtx_store::reads::ShownStatus::ALL`. -1: the row shows nothing.
CREATE FUNCTION listed_status(name text) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE name WHEN 'pending' THEN 0 WHEN 'running' THEN 1 WHEN 'completed' THEN 2 WHEN 'failed' THEN 3
                 WHEN 'disputed' THEN 4 END::smallint;

-- What the list shows of each execution, from the same rules as `shown_executions`; its columns are those of the list.
--
-- The last part is for disputes whose execution is not known. A row that shows nothing keeps their place: it is what
-- two transactions lock that write the execution and its dispute at the same time.
CREATE VIEW execution_list_sources AS
SELECT m.address AS record, m.execution_id, m.caller, true AS on_chain, a.creator, m.agent,
       listed_status(shown_status(m.status, e.state)) AS status,
       shown_cost(m.status, m.amount, e.state, d.compensation) AS cost, m.initiated_at,
       shown_end(m.status, m.initiated_at, m.finished_at, e.finished_at) AS completed_at
FROM mirror_executions m
LEFT JOIN executions e ON e.record = m.address
LEFT JOIN mirror_disputes d ON d.execution = m.address
LEFT JOIN mirror_agents a ON a.address = m.agent
UNION ALL
SELECT record, execution_id, caller, false, NULL, agent, listed_status(status), cost, initiated_at, completed_at
FROM shown_executions_off_chain
UNION ALL
SELECT d.execution, '00000000-0000-0000-0000-000000000000', '', false, NULL, '', -1::smallint, 0, 'epoch'::timestamptz,
       NULL
FROM mirror_disputes d
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = d.execution)
  AND NOT EXISTS (SELECT FROM executions e WHERE e.record = d.execution);

CREATE TABLE execution_list (
    record       text PRIMARY KEY,
    execution_id uuid NOT NULL,
    caller       text NOT NULL,
    -- Whether the mirror has the record. A creator sees only what the chain shows.
    on_chain     boolean NOT NULL,
    -- Null until record and listing are known. It never changes: the address of a listing contains its creator.
    creator      text,
    agent        text NOT NULL,
    -- listed_status(…)
    status       smallint NOT NULL,
    cost         bigint NOT NULL,
    initiated_at timestamptz NOT NULL,
    completed_at timestamptz
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE FUNCTION utc_day(at timestamptz) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (at AT TIME ZONE 'UTC')::date;

CREATE FUNCTION start_of_day(day date) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN day::timestamp AT TIME ZONE 'UTC';

-- Counters by key, day and status. A key is a list without status and time: of a caller (role 0) or of a creator (role 1),
-- with all agents (agent '') or one. Day '-infinity' is all days. Of a time range, the parts of its first and last day are
-- counted from an index of the list, and the days between are these counters.
CREATE TABLE execution_totals (
    role   smallint NOT NULL,
    owner  text NOT NULL,
    agent  text NOT NULL,
    day    date NOT NULL,
    status smallint NOT NULL,
    n      bigint NOT NULL,
    PRIMARY KEY (role, owner, agent, day, status)
) WITH (fillfactor = 70);

-- What changed in the list and is not in the counters yet: a row went from the status `was` to another one. -1: it was
-- not there or is gone. No key of its own: nobody reads a note by itself, and each call writes some.
CREATE TABLE execution_changes (
    -- Null: only the creator's counters change, because its listing or the record became known.
    caller  text,
    creator text,
    agent   text NOT NULL,
    day     date NOT NULL,
    was     smallint NOT NULL,
    status  smallint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX execution_changes_by_caller ON execution_changes (caller) WHERE caller IS NOT NULL;
CREATE INDEX execution_changes_by_creator ON execution_changes (creator) WHERE creator IS NOT NULL;

-- The same as numbers to add.
CREATE VIEW execution_notes AS
SELECT c.caller, c.creator, c.agent, c.day, n.status, n.n
FROM execution_changes c
CROSS JOIN LATERAL (VALUES (c.was, -1::smallint), (c.status, 1::smallint)) AS n (status, n)
WHERE n.status >= 0;

-- The counters that an execution is in.
CREATE FUNCTION execution_keys(caller text, creator text, agent text, day date)
RETURNS TABLE (role smallint, owner text, key_agent text, key_day date) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT k.role, k.owner, a.agent, d.day
    FROM (VALUES (0::smallint, caller), (1::smallint, creator)) AS k (role, owner)
    CROSS JOIN (VALUES (''), (agent)) AS a (agent)
    CROSS JOIN (VALUES ('-infinity'::date), (day)) AS d (day)
    WHERE k.owner IS NOT NULL;
END;

-- The rows of each of these lists. Without conditions, so that PostgreSQL reads one of the parts in the order of its
-- index.
CREATE VIEW execution_list_rows AS
SELECT 0::smallint AS role, caller AS owner, '' AS of_agent, l.* FROM execution_list l
UNION ALL
SELECT 0::smallint, caller, agent, l.* FROM execution_list l
UNION ALL
SELECT 1::smallint, creator, '', l.* FROM execution_list l
UNION ALL
SELECT 1::smallint, creator, agent, l.* FROM execution_list l;

-- A page and a count read one range for each status. Each new state of a row is an entry in every index, so there are no
-- others: a list without a status merges five ranges.
CREATE INDEX execution_list_by_caller
    ON execution_list (caller, status, initiated_at DESC, execution_id DESC);
CREATE INDEX execution_list_by_caller_and_agent
    ON execution_list (caller, agent, status, initiated_at DESC, execution_id DESC);
-- Two callers can choose the same execution id, so the record is part of the order. No two executions of one caller have
-- the same id and time.
CREATE INDEX execution_list_by_creator
    ON execution_list (creator, status, initiated_at DESC, execution_id DESC, record DESC) WHERE creator IS NOT NULL;
-- With the creator: a count then reads the index alone.
CREATE INDEX execution_list_by_creator_and_agent
    ON execution_list (creator, agent, status, initiated_at DESC, execution_id DESC, record DESC)
    WHERE creator IS NOT NULL;
CREATE INDEX execution_list_without_creator ON execution_list (agent) WHERE creator IS NULL AND on_chain;

-- Brings the rows of some records up to date. Called after each change of a source, in its transaction. `p_on_chain`: the
-- mirror has all of them, so nothing else is looked at. `p_vanished`: some may have lost their last source.
--
-- Two transactions can change two sources of one record at the same time, and neither sees what the other has not
-- committed. Both lock the row of the list before they read the sources. So the second one waits for the first, and its
-- next statement sees what the first has committed (READ COMMITTED). Rows are locked in the order of the records, new ones
-- first; a row that does not exist is created, which makes others wait as well.
--
-- Each statement that writes the list writes its notes as well. A trigger would need tables of the old and new rows, which cost
-- the change of a single row as much as the change itself.
CREATE FUNCTION refresh_execution_list(p_records text[], p_on_chain boolean, p_vanished boolean) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off AS $$
DECLARE
    v_rows bigint;
BEGIN
    -- Again if another transaction has removed a row meanwhile, because it did not see our source.
    FOR v_try IN 1..3 LOOP
        SELECT count(*) INTO v_rows FROM execution_list WHERE record = ANY (p_records);
        IF v_rows < cardinality(p_records) THEN
            -- Not a row that is there: if it is being removed, the insertion would wait for that and then write what the
            -- sources said before.
            WITH listed AS (
                INSERT INTO execution_list
                SELECT * FROM execution_list_sources s
                WHERE record = ANY (p_records) AND (on_chain OR NOT p_on_chain)
                  AND NOT EXISTS (SELECT FROM execution_list l WHERE l.record = s.record)
                ORDER BY record
                ON CONFLICT (record) DO NOTHING
                RETURNING caller, creator, agent, initiated_at, status),
            noted AS (
                INSERT INTO execution_changes (caller, creator, agent, day, was, status)
                SELECT caller, creator, agent, utc_day(initiated_at), -1, status FROM listed WHERE status >= 0)
            SELECT count(*) INTO v_rows FROM listed;
            IF v_rows = cardinality(p_records) THEN
                RETURN;
            END IF;
        END IF;
        PERFORM FROM execution_list WHERE record = ANY (p_records) ORDER BY record FOR UPDATE;
        GET DIAGNOSTICS v_rows = ROW_COUNT;
        EXIT WHEN v_rows = cardinality(p_records) OR p_vanished;
    END LOOP;
    -- One `= ANY` and joins: a second one would be a filter that searches the whole array for each row. A creator that is
    -- known stays: a transaction that began before the listing came does not see it.
    WITH shown AS (
        SELECT l.ctid AS place, l.caller AS old_caller, l.creator AS old_creator, l.agent AS old_agent,
               l.initiated_at AS old_time, l.status AS old_status, s.execution_id, s.caller, s.on_chain, s.agent,
               s.status, s.cost, s.initiated_at, s.completed_at,
               CASE WHEN s.on_chain THEN COALESCE(s.creator, CASE WHEN l.agent = s.agent THEN l.creator END) END AS creator
        FROM (SELECT * FROM execution_list_sources WHERE record = ANY (p_records) AND (on_chain OR NOT p_on_chain)) AS s
        JOIN execution_list l ON l.record = s.record),
    changed AS (
        UPDATE execution_list l SET
            execution_id = s.execution_id, caller = s.caller, on_chain = s.on_chain, creator = s.creator, agent = s.agent,
            status = s.status, cost = s.cost, initiated_at = s.initiated_at, completed_at = s.completed_at
        FROM shown s
        WHERE l.ctid = s.place
          AND (l.execution_id, l.caller, l.on_chain, l.creator, l.agent, l.status, l.cost, l.initiated_at, l.completed_at)
              IS DISTINCT FROM
              (s.execution_id, s.caller, s.on_chain, s.creator, s.agent, s.status, s.cost, s.initiated_at, s.completed_at)
        RETURNING s.*)
    -- One note for a new status, one for a creator that became known, two for a row that moved to another caller, creator,
    -- agent or day.
    INSERT INTO execution_changes (caller, creator, agent, day, was, status)
    SELECT n.caller, n.creator, n.agent, n.day, n.was, n.status
    FROM (SELECT *, utc_day(old_time) AS old_day, utc_day(initiated_at) AS day FROM changed) AS c
    CROSS JOIN LATERAL (
        SELECT (c.old_caller, c.old_agent, c.old_day) = (c.caller, c.agent, c.day)
            AND (c.old_creator IS NULL OR c.old_creator IS NOT DISTINCT FROM c.creator) AS stays) AS m
    CROSS JOIN LATERAL (
        VALUES (m.stays, c.old_caller, c.old_creator, c.old_agent, c.old_day, c.old_status, c.status),
               (m.stays AND c.old_creator IS NULL AND c.creator IS NOT NULL,
                NULL, c.creator, c.agent, c.day, -1, c.status),
               (NOT m.stays, c.old_caller, c.old_creator, c.old_agent, c.old_day, c.old_status, -1),
               (NOT m.stays, c.caller, c.creator, c.agent, c.day, -1, c.status)
    ) AS n (applies, caller, creator, agent, day, was, status)
    WHERE n.applies AND n.was <> n.status;
    IF p_vanished THEN
        WITH gone AS (
            DELETE FROM execution_list l
            WHERE l.record = ANY (p_records)
              AND NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = l.record)
              AND NOT EXISTS (SELECT FROM executions e WHERE e.record = l.record)
              AND NOT EXISTS (SELECT FROM mirror_disputes d WHERE d.execution = l.record)
            RETURNING l.caller, l.creator, l.agent, l.initiated_at, l.status)
        INSERT INTO execution_changes (caller, creator, agent, day, was, status)
        SELECT caller, creator, agent, utc_day(initiated_at), status, -1 FROM gone WHERE status >= 0;
    END IF;
END
$$;

-- The sources. A change that the list does not show, such as a lease or a slot, does nothing.
-- The gateway changes one row at a time, and each call waits for it: so these functions read no more than they need.
CREATE FUNCTION list_inserted_execution() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_status smallint := listed_status(shown_status(NULL, NEW.state));
BEGIN
    INSERT INTO execution_list (record, execution_id, caller, on_chain, agent, status, cost, initiated_at, completed_at)
    VALUES (NEW.record, NEW.execution_id, NEW.caller, false, NEW.agent, v_status,
            shown_cost(NULL, COALESCE(NEW.charged_amount, NEW.amount), NEW.state, NULL), NEW.created_at, NEW.finished_at)
    ON CONFLICT (record) DO NOTHING;
    IF FOUND THEN
        INSERT INTO execution_changes (caller, agent, day, was, status)
        VALUES (NEW.caller, NEW.agent, utc_day(NEW.created_at), -1, v_status);
    ELSE
        PERFORM refresh_execution_list(ARRAY[NEW.record], false, false);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION follow_execution() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_row       execution_list;
    -- Of the record; null if the mirror does not have it.
    v_record    smallint;
    v_initiated timestamptz;
    v_finished  timestamptz;
    v_amount    bigint := COALESCE(NEW.charged_amount, NEW.amount);
    v_status    smallint;
    v_cost      bigint;
    v_end       timestamptz;
BEGIN
    -- Refunds after a crash or an outage of this service do not count: neither caller nor creator caused them.
    IF NEW.state = 'failed' AND OLD.state <> 'failed' AND NEW.opened_at IS NOT NULL
       AND NEW.error_code IN ('execution_failed', 'execution_timeout') THEN
        INSERT INTO call_failures (caller, session_key, agent) VALUES (NEW.caller, NEW.session_key, NEW.agent);
    END IF;
    -- While the row is locked, nobody else adds the record to the mirror, changes or removes it.
    SELECT * INTO v_row FROM execution_list WHERE record = NEW.record FOR UPDATE;
    IF v_row.on_chain THEN
        SELECT status, amount, initiated_at, finished_at INTO v_record, v_amount, v_initiated, v_finished
        FROM mirror_executions WHERE address = NEW.record;
    END IF;
    IF v_row.record IS NULL OR v_record = record_status('overturned') THEN
        PERFORM refresh_execution_list(ARRAY[NEW.record], false, false);
        RETURN NULL;
    END IF;
    v_status := listed_status(shown_status(v_record, NEW.state));
    v_cost := shown_cost(v_record, v_amount, NEW.state, NULL);
    v_end := shown_end(v_record, v_initiated, v_finished, NEW.finished_at);
    IF (v_status, v_cost, v_end) IS DISTINCT FROM (v_row.status, v_row.cost, v_row.completed_at) THEN
        UPDATE execution_list SET status = v_status, cost = v_cost, completed_at = v_end WHERE record = NEW.record;
    END IF;
    IF v_status <> v_row.status THEN
        INSERT INTO execution_changes (caller, creator, agent, day, was, status)
        VALUES (v_row.caller, v_row.creator, v_row.agent, utc_day(v_row.initiated_at), v_row.status, v_status);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION list_deleted_executions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_execution_list(ARRAY(SELECT record FROM deleted ORDER BY record), false, true);
    RETURN NULL;
END
$$;

CREATE TRIGGER list_inserted AFTER INSERT ON executions FOR EACH ROW EXECUTE FUNCTION list_inserted_execution();
-- Most steps of a call change nothing that the list shows. Record, caller, agent and time of a row never change. PostgreSQL
-- parses this condition again for each statement, and the functions in it: so it is short, and names the states of
-- 'pending'.
CREATE TRIGGER followed AFTER UPDATE ON executions FOR EACH ROW
    WHEN (OLD.state IN ('reserved', 'opening', 'pending') <> NEW.state IN ('reserved', 'opening', 'pending')
          OR OLD.finished_at IS DISTINCT FROM NEW.finished_at
          OR NEW.amount <> OLD.amount OR NEW.charged_amount <> NEW.amount)
    EXECUTE FUNCTION follow_execution();
CREATE TRIGGER list_deleted AFTER DELETE ON executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION list_deleted_executions();
