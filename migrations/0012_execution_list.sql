-- The list of executions as one table, with counters; the counters of an agent's last days; the lists of disputes.
--
-- Every row is kept in the transaction that writes its sources. Counters are not: each transaction only appends notes,
-- and one task at a time (`fold_list_notes`) adds them to the counters. So no two transactions wait for a counter. A
-- reader adds the notes that are not folded yet, so a total is exact at every moment.

-- Statuses in the list: the place of the name in `crtx_store::reads::ShownStatus::ALL`. -1: the row shows nothing.
CREATE FUNCTION listed_status(name text) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE name WHEN 'pending' THEN 0 WHEN 'running' THEN 1 WHEN 'completed' THEN 2 WHEN 'failed' THEN 3
                 WHEN 'disputed' THEN 4 END::smallint;

-- What the list shows of each execution, from the same rules as `shown_executions`.
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

-- Fills list and counters from nothing. The caller has emptied them and keeps others from writing.
CREATE FUNCTION fill_execution_list() RETURNS void LANGUAGE sql AS $$
    INSERT INTO execution_list (record, execution_id, caller, on_chain, creator, agent, status, cost, initiated_at,
                                completed_at)
    SELECT record, execution_id, caller, on_chain, creator, agent, status, cost, initiated_at, completed_at
    FROM execution_list_sources;
    INSERT INTO execution_totals (role, owner, agent, day, status, n)
    SELECT k.role, k.owner, k.key_agent, k.key_day, l.status, count(*)
    FROM execution_list l, execution_keys(l.caller, l.creator, l.agent, utc_day(l.initiated_at)) k
    WHERE l.status >= 0
    GROUP BY k.role, k.owner, k.key_agent, k.key_day, l.status
$$;

-- A page and a count read one range for each status. Each new state of a row is an entry in every index, so there are no
-- others: a list without a status merges five ranges.
CREATE INDEX execution_list_by_caller
    ON execution_list (caller, status, initiated_at DESC, execution_id DESC);
CREATE INDEX execution_list_by_caller_and_agent
    ON execution_list (caller, agent, status, initiated_at DESC, execution_id DESC);
-- Two callers can choose the same execution id, so the record is part of the order.
CREATE INDEX execution_list_by_creator
    ON execution_list (creator, status, initiated_at DESC, execution_id DESC, record DESC) WHERE creator IS NOT NULL;
-- With the creator: a count then reads the index alone.
CREATE INDEX execution_list_by_creator_and_agent
    ON execution_list (creator, agent, status, initiated_at DESC, execution_id DESC, record DESC)
    WHERE creator IS NOT NULL;
CREATE INDEX execution_list_without_creator ON execution_list (agent) WHERE creator IS NULL AND on_chain;

SELECT fill_execution_list();

-- The notes of a changed row: one for a new status, one for a creator that became known, two for a row that moved to
-- another caller, creator, agent or day.
CREATE FUNCTION list_notes(
    old_caller text, old_creator text, old_agent text, old_time timestamptz, old_status smallint,
    new_caller text, new_creator text, new_agent text, new_time timestamptz, new_status smallint
) RETURNS TABLE (caller text, creator text, agent text, day date, was smallint, status smallint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT n.caller, n.creator, n.agent, n.day, n.was, n.status
    FROM (SELECT t.old_day, t.new_day,
                 (old_caller, old_agent, t.old_day) = (new_caller, new_agent, t.new_day)
                     AND (old_creator IS NULL OR old_creator IS NOT DISTINCT FROM new_creator) AS stays
          FROM (SELECT utc_day(old_time) AS old_day, utc_day(new_time) AS new_day) AS t) AS m
    CROSS JOIN LATERAL (
        VALUES (m.stays, old_caller, old_creator, old_agent, m.old_day, old_status, new_status),
               (m.stays AND old_creator IS NULL AND new_creator IS NOT NULL,
                NULL, new_creator, new_agent, m.new_day, -1, new_status),
               (NOT m.stays, old_caller, old_creator, old_agent, m.old_day, old_status, -1),
               (NOT m.stays, new_caller, new_creator, new_agent, m.new_day, -1, new_status)
    ) AS n (applies, caller, creator, agent, day, was, status)
    WHERE n.applies AND n.was <> n.status;
END;

-- Brings the rows of some records up to date. Called after each change of a source, in its transaction. `p_on_chain`: the
-- mirror has all of them, so nothing else is looked at. `p_vanished`: some may have lost their last source.
--
-- Two transactions can change two sources of one record at the same time, and neither sees what the other has not
-- committed. Both lock the row of the list before they read the sources. So the second one waits for the first, and its
-- next statement sees what the first has committed (READ COMMITTED). Rows are locked in the order of the records, new ones
-- first; a row that does not exist is created, which makes others wait as well.
--
-- Whoever writes the list notes it in the same statement. A trigger would need tables of the old and new rows, which cost
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
                INSERT INTO execution_list (record, execution_id, caller, on_chain, creator, agent, status, cost,
                                            initiated_at, completed_at)
                SELECT record, execution_id, caller, on_chain, creator, agent, status, cost, initiated_at, completed_at
                FROM execution_list_sources s
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
    INSERT INTO execution_changes (caller, creator, agent, day, was, status)
    SELECT n.caller, n.creator, n.agent, n.day, n.was, n.status
    FROM changed c
    CROSS JOIN LATERAL list_notes(c.old_caller, c.old_creator, c.old_agent, c.old_time, c.old_status,
                                  c.caller, c.creator, c.agent, c.initiated_at, c.status) n;
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
CREATE FUNCTION list_updated_execution() RETURNS trigger LANGUAGE plpgsql AS $$
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
    -- While the row is locked, nobody else adds the record to the mirror, changes or removes it.
    SELECT * INTO v_row FROM execution_list WHERE record = NEW.record FOR UPDATE;
    IF v_row.on_chain THEN
        SELECT status, amount, initiated_at, finished_at INTO v_record, v_amount, v_initiated, v_finished
        FROM mirror_executions WHERE address = NEW.record;
    END IF;
    IF v_row.record IS NULL OR v_record = record_status('overturned')
       OR (NEW.created_at, NEW.execution_id, NEW.agent, NEW.caller)
          IS DISTINCT FROM (OLD.created_at, OLD.execution_id, OLD.agent, OLD.caller) THEN
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
CREATE FUNCTION list_deleted_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_execution_list(ARRAY(SELECT address FROM deleted ORDER BY address), false, true);
    RETURN NULL;
END
$$;
CREATE FUNCTION list_inserted_disputes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- An upsert is an insertion as well, often of nothing.
    IF EXISTS (SELECT FROM inserted) THEN
        PERFORM refresh_execution_list(ARRAY(SELECT execution FROM inserted ORDER BY execution), false, false);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION list_deleted_disputes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_execution_list(ARRAY(SELECT execution FROM deleted ORDER BY execution), false, true);
    RETURN NULL;
END
$$;
CREATE FUNCTION list_updated_disputes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_records text[];
BEGIN
    v_records := ARRAY(
        SELECT changed.execution
        FROM updated u JOIN outdated o ON o.address = u.address
        CROSS JOIN LATERAL (VALUES (o.execution), (u.execution)) AS changed (execution)
        WHERE (o.compensation, o.execution) IS DISTINCT FROM (u.compensation, u.execution)
        GROUP BY changed.execution ORDER BY changed.execution);
    IF cardinality(v_records) > 0 THEN
        PERFORM refresh_execution_list(v_records, false, true);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER list_inserted AFTER INSERT ON executions FOR EACH ROW EXECUTE FUNCTION list_inserted_execution();
-- Most steps of a call change nothing that the list shows.
CREATE TRIGGER list_updated AFTER UPDATE ON executions FOR EACH ROW
    WHEN (status_of_state(OLD.state) <> status_of_state(NEW.state)
          OR OLD.finished_at IS DISTINCT FROM NEW.finished_at
          OR COALESCE(OLD.charged_amount, OLD.amount) <> COALESCE(NEW.charged_amount, NEW.amount)
          OR (OLD.created_at, OLD.execution_id, OLD.agent, OLD.caller)
             IS DISTINCT FROM (NEW.created_at, NEW.execution_id, NEW.agent, NEW.caller))
    EXECUTE FUNCTION list_updated_execution();
CREATE TRIGGER list_deleted AFTER DELETE ON executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION list_deleted_executions();

CREATE TRIGGER list_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION list_deleted_records();
CREATE TRIGGER list_inserted AFTER INSERT ON mirror_disputes
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION list_inserted_disputes();
CREATE TRIGGER list_deleted AFTER DELETE ON mirror_disputes
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION list_deleted_disputes();
CREATE TRIGGER list_updated AFTER UPDATE ON mirror_disputes
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated
    FOR EACH STATEMENT EXECUTE FUNCTION list_updated_disputes();

-- Counters of an agent's days, from the records on chain, for the last 40 days. `metric`: 0 failed, 1 disputed, 2 upheld
-- disputes, 100 and more: completed with an execution time in that class. A class is 5 % wide.
CREATE FUNCTION time_class(ms bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ms <= 0 THEN 100 ELSE 101 + floor(ln(ms::double precision) / ln(1.05::double precision)) END::smallint;

CREATE FUNCTION kept_days() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 40;

CREATE TABLE agent_days (
    agent  text NOT NULL,
    day    date NOT NULL,
    metric smallint NOT NULL,
    n      bigint NOT NULL,
    fees   numeric NOT NULL,
    PRIMARY KEY (agent, day, metric)
) WITH (fillfactor = 80);
CREATE INDEX agent_days_by_day ON agent_days (day);

-- The same in one row, with what the creator received. For the days of a creator and of the market.
CREATE TABLE agent_day_sums (
    agent     text NOT NULL,
    day       date NOT NULL,
    -- Null until the listing is known.
    creator   text,
    completed bigint NOT NULL,
    failed    bigint NOT NULL,
    disputed  bigint NOT NULL,
    earned    numeric NOT NULL,
    fees      numeric NOT NULL,
    PRIMARY KEY (agent, day)
) WITH (fillfactor = 80);
CREATE INDEX agent_day_sums_by_creator ON agent_day_sums (creator, day) WHERE creator IS NOT NULL;
CREATE INDEX agent_day_sums_without_creator ON agent_day_sums (agent) WHERE creator IS NULL;
CREATE INDEX agent_day_sums_by_day ON agent_day_sums (day);

-- Of all agents.
CREATE TABLE market_days (
    day       date PRIMARY KEY,
    completed bigint NOT NULL,
    failed    bigint NOT NULL,
    disputed  bigint NOT NULL,
    earned    numeric NOT NULL,
    fees      numeric NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE agent_day_notes (
    agent  text NOT NULL,
    day    date NOT NULL,
    metric smallint NOT NULL,
    n      bigint NOT NULL,
    fees   numeric NOT NULL,
    earned numeric NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- What one record counts.
CREATE FUNCTION day_metrics(
    status smallint, dispute_count smallint, execution_time_ms bigint, platform_amount bigint, creator_amount bigint
) RETURNS TABLE (metric smallint, fees bigint, earned bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT time_class(execution_time_ms), platform_amount, creator_amount WHERE is_settled(status)
    UNION ALL SELECT 0::smallint, 0, 0 WHERE status = record_status('failed')
    UNION ALL SELECT 1::smallint, 0, 0 WHERE is_settled(status) AND dispute_count > 0
    UNION ALL SELECT 2::smallint, 0, 0 WHERE status = record_status('overturned');
END;

CREATE FUNCTION note_days_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
    SELECT i.agent, (i.finished_at AT TIME ZONE 'UTC')::date, m.metric, -count(*), -sum(m.fees), -sum(m.earned)
    FROM deleted i,
         day_metrics(i.status, i.dispute_count, i.execution_time_ms, i.platform_amount, i.creator_amount) m
    WHERE i.finished_at > now() - make_interval(days => kept_days())
    GROUP BY 1, 2, 3;
    RETURN NULL;
END
$$;
CREATE TRIGGER note_days_of_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_days_of_deleted();
-- What follows from new and changed records, in one function for each: the list, the notes of 0006 and 0011 about callers
-- and wallets, and those about days. Each function would cost the write of a single row about as much as the row.
DROP TRIGGER note_inserted ON mirror_executions;
DROP TRIGGER note_updated ON mirror_executions;
DROP TRIGGER note_wallets_of_inserted ON mirror_executions;
DROP TRIGGER note_wallets_of_updated ON mirror_executions;
DROP FUNCTION note_inserted_executions(), note_updated_executions(), note_wallets_of_inserted(), note_wallets_of_updated();

CREATE FUNCTION follow_inserted_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- An upsert is an insertion as well, often of nothing.
    IF NOT EXISTS (SELECT FROM inserted) THEN
        RETURN NULL;
    END IF;
    PERFORM refresh_execution_list(ARRAY(SELECT address FROM inserted ORDER BY address), true, false);
    -- An open record counts nowhere.
    IF NOT EXISTS (SELECT FROM inserted WHERE status <> record_status('open')) THEN
        RETURN NULL;
    END IF;
    INSERT INTO mirror_caller_changes (agent, caller, executions, fees)
    SELECT agent, caller, count(*), sum(platform_amount) FROM inserted WHERE is_settled(status) GROUP BY agent, caller;
    INSERT INTO mirror_wallet_changes (caller, agent, completed, failed, spent, earned)
    SELECT caller, agent, sum(is_settled(status)::int), sum(is_refunded(status)::int),
           sum(is_settled(status)::int * amount), sum(is_settled(status)::int * creator_amount)
    FROM inserted WHERE is_settled(status) OR is_refunded(status) GROUP BY caller, agent;
    INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
    SELECT i.agent, (i.finished_at AT TIME ZONE 'UTC')::date, m.metric, count(*), sum(m.fees), sum(m.earned)
    FROM inserted i,
         day_metrics(i.status, i.dispute_count, i.execution_time_ms, i.platform_amount, i.creator_amount) m
    WHERE i.finished_at > now() - make_interval(days => kept_days())
    GROUP BY 1, 2, 3;
    RETURN NULL;
END
$$;

CREATE FUNCTION follow_updated_records() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_records text[];
    v_counts  boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM updated) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(u.address ORDER BY u.address) FILTER (
               WHERE (o.status, o.finished_at, o.amount, o.initiated_at, o.execution_id, o.agent, o.caller)
                     IS DISTINCT FROM
                     (u.status, u.finished_at, u.amount, u.initiated_at, u.execution_id, u.agent, u.caller)),
           bool_or((o.status, o.finished_at, o.amount, o.agent, o.caller, o.creator_amount, o.platform_amount,
                    o.dispute_count, o.execution_time_ms)
                   IS DISTINCT FROM
                   (u.status, u.finished_at, u.amount, u.agent, u.caller, u.creator_amount, u.platform_amount,
                    u.dispute_count, u.execution_time_ms))
    FROM updated u JOIN outdated o ON o.address = u.address
    INTO v_records, v_counts;
    IF v_records IS NOT NULL THEN
        PERFORM refresh_execution_list(v_records, true, false);
    END IF;
    IF NOT v_counts THEN
        RETURN NULL;
    END IF;
    INSERT INTO mirror_caller_changes (agent, caller, executions, fees)
    SELECT agent, caller, sum(n), sum(n * platform_amount)
    FROM (SELECT agent, caller, status, platform_amount, 1 AS n FROM updated
          UNION ALL
          SELECT agent, caller, status, platform_amount, -1 FROM outdated) AS changed
    WHERE is_settled(status)
    GROUP BY agent, caller
    HAVING sum(n) <> 0 OR sum(n * platform_amount) <> 0;
    INSERT INTO mirror_wallet_changes (caller, agent, completed, failed, spent, earned)
    SELECT caller, agent, sum(n * settled), sum(n * refunded), sum(n * settled * amount),
           sum(n * settled * creator_amount)
    FROM (SELECT caller, agent, amount, creator_amount, 1 AS n, is_settled(status)::int AS settled,
                 is_refunded(status)::int AS refunded
          FROM updated
          UNION ALL
          SELECT caller, agent, amount, creator_amount, -1, is_settled(status)::int, is_refunded(status)::int
          FROM outdated) AS changed
    GROUP BY caller, agent
    HAVING sum(n * settled) <> 0 OR sum(n * refunded) <> 0 OR sum(n * settled * amount) <> 0
        OR sum(n * settled * creator_amount) <> 0;
    INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
    SELECT c.agent, (c.finished_at AT TIME ZONE 'UTC')::date, m.metric, sum(c.n), sum(c.n * m.fees), sum(c.n * m.earned)
    FROM (SELECT agent, finished_at, status, dispute_count, execution_time_ms, platform_amount, creator_amount, 1 AS n
          FROM updated
          UNION ALL
          SELECT agent, finished_at, status, dispute_count, execution_time_ms, platform_amount, creator_amount, -1
          FROM outdated) AS c
    CROSS JOIN LATERAL day_metrics(c.status, c.dispute_count, c.execution_time_ms, c.platform_amount,
                                   c.creator_amount) m
    WHERE c.finished_at > now() - make_interval(days => kept_days())
    GROUP BY 1, 2, 3
    HAVING sum(c.n) <> 0 OR sum(c.n * m.fees) <> 0 OR sum(c.n * m.earned) <> 0;
    RETURN NULL;
END
$$;

CREATE TRIGGER follow_inserted AFTER INSERT ON mirror_executions
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION follow_inserted_records();
CREATE TRIGGER follow_updated AFTER UPDATE ON mirror_executions
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated
    FOR EACH STATEMENT EXECUTE FUNCTION follow_updated_records();

CREATE FUNCTION fill_agent_days() RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        SELECT i.agent, (i.finished_at AT TIME ZONE 'UTC')::date AS day, m.metric, count(*) AS n, sum(m.fees) AS fees,
               sum(m.earned) AS earned
        FROM mirror_executions i,
             day_metrics(i.status, i.dispute_count, i.execution_time_ms, i.platform_amount, i.creator_amount) m
        WHERE i.finished_at > now() - make_interval(days => kept_days())
        GROUP BY 1, 2, 3),
    days AS (
        INSERT INTO agent_days (agent, day, metric, n, fees) SELECT agent, day, metric, n, fees FROM counted),
    sums AS (
        INSERT INTO agent_day_sums (agent, day, creator, completed, failed, disputed, earned, fees)
        SELECT c.agent, c.day, a.creator, sum((c.metric >= 100)::int * c.n), sum((c.metric = 0)::int * c.n),
               sum((c.metric = 1)::int * c.n), sum(c.earned), sum(c.fees)
        FROM counted c LEFT JOIN mirror_agents a ON a.address = c.agent
        GROUP BY c.agent, c.day, a.creator
        RETURNING day, completed, failed, disputed, earned, fees)
    INSERT INTO market_days (day, completed, failed, disputed, earned, fees)
    SELECT day, sum(completed), sum(failed), sum(disputed), sum(earned), sum(fees) FROM sums GROUP BY day
$$;
SELECT fill_agent_days();

-- The lists of disputes read `mirror_disputes` itself, in the order of an index for each party and outcome.
ALTER TABLE mirror_disputes
    -- As in `execution_list`.
    ADD COLUMN creator       text,
    -- Null if the creator raised the dispute itself: a list of both parties shows it once.
    ADD COLUMN other_creator text GENERATED ALWAYS AS (NULLIF(creator, raised_by)) STORED;
UPDATE mirror_disputes d SET creator = a.creator FROM mirror_agents a WHERE a.address = d.agent;

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
SELECT fill_dispute_totals();

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

DROP INDEX mirror_disputes_by_caller, mirror_disputes_by_agent, mirror_disputes_open, mirror_disputes_decided;
CREATE INDEX mirror_disputes_by_caller ON mirror_disputes (raised_by, outcome, raised_at, address);
CREATE INDEX mirror_disputes_by_creator ON mirror_disputes (creator, outcome, raised_at, address)
    WHERE creator IS NOT NULL;
CREATE INDEX mirror_disputes_by_other_creator ON mirror_disputes (other_creator, outcome, raised_at, address)
    WHERE other_creator IS NOT NULL;
CREATE INDEX mirror_disputes_by_outcome ON mirror_disputes (outcome, raised_at, address);
CREATE INDEX mirror_disputes_without_creator ON mirror_disputes (agent) WHERE creator IS NULL;

-- A listing that arrives after its executions names their creator. Rows that somebody else changes at this moment are
-- left to `name_creators`, so nobody waits; and no more than some at once.
CREATE FUNCTION name_creators_of(p_agents text[], p_most integer) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    v_executions bigint;
    v_disputes   bigint;
BEGIN
    WITH named AS (
        UPDATE execution_list l SET creator = a.creator
        FROM (SELECT record FROM execution_list WHERE agent = ANY (p_agents) AND creator IS NULL AND on_chain
              LIMIT p_most FOR UPDATE SKIP LOCKED) AS found, mirror_agents a
        WHERE l.record = found.record AND a.address = l.agent
        RETURNING l.creator, l.agent, l.initiated_at, l.status),
    noted AS (
        INSERT INTO execution_changes (creator, agent, day, was, status)
        SELECT creator, agent, utc_day(initiated_at), -1, status FROM named)
    SELECT count(*) INTO v_executions FROM named;
    UPDATE mirror_disputes d SET creator = a.creator
    FROM (SELECT address FROM mirror_disputes WHERE agent = ANY (p_agents) AND creator IS NULL
          LIMIT p_most FOR UPDATE SKIP LOCKED) AS found, mirror_agents a
    WHERE d.address = found.address AND a.address = d.agent;
    GET DIAGNOSTICS v_disputes = ROW_COUNT;
    RETURN v_executions + v_disputes;
END
$$;
-- Listings that arrived lately. A transaction that wrote an execution meanwhile may not have seen its listing, so each
-- one is looked at again until all transactions of that time have ended.
CREATE TABLE listing_arrivals (
    agent text PRIMARY KEY,
    -- All later transactions see the listing. Null before the first look.
    seen  xid8
);
CREATE INDEX listing_arrivals_by_look ON listing_arrivals (seen NULLS FIRST);

CREATE FUNCTION note_arrived_listings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO listing_arrivals (agent) SELECT address FROM inserted ON CONFLICT (agent) DO UPDATE SET seen = NULL;
    PERFORM name_creators_of(ARRAY(SELECT address FROM inserted), 1000);
    RETURN NULL;
END
$$;
CREATE TRIGGER note_arrived AFTER INSERT ON mirror_agents
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_arrived_listings();

CREATE FUNCTION name_creators(p_most integer) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    v_agents  text[];
    v_oldest  xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_newest  xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    v_agents := ARRAY(SELECT agent FROM listing_arrivals ORDER BY seen NULLS FIRST LIMIT p_most);
    IF cardinality(v_agents) = 0 THEN
        RETURN;
    END IF;
    PERFORM name_creators_of(v_agents, p_most);
    -- Few rows: the days of an agent. Only `fold_list_notes` writes them.
    UPDATE agent_day_sums s SET creator = a.creator FROM mirror_agents a
    WHERE s.agent = ANY (v_agents) AND s.creator IS NULL AND a.address = s.agent;
    DELETE FROM listing_arrivals a
    WHERE a.agent = ANY (v_agents) AND a.seen <= v_oldest
      AND NOT EXISTS (SELECT FROM execution_list l WHERE l.agent = a.agent AND l.creator IS NULL AND l.on_chain)
      AND NOT EXISTS (SELECT FROM mirror_disputes d WHERE d.agent = a.agent AND d.creator IS NULL);
    UPDATE listing_arrivals SET seen = v_newest WHERE agent = ANY (v_agents) AND seen IS NULL;
END
$$;

-- Adds at most `p_most` notes of each kind to the counters. One transaction at a time: the others do nothing. Returns how
-- many notes were added.
CREATE FUNCTION fold_list_notes(p_most integer) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_taken bigint;
    v_all   bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1668445312) THEN
        RETURN 0;
    END IF;
    PERFORM name_creators(p_most);

    WITH taken AS (
        DELETE FROM execution_changes WHERE ctid = ANY (ARRAY(SELECT ctid FROM execution_changes LIMIT p_most))
        RETURNING caller, creator, agent, day, was, status),
    -- An execution that was pending and running between two rounds leaves nothing to add there.
    changed AS (
        SELECT t.caller, t.creator, t.agent, t.day, n.status, sum(n.n) AS n
        FROM taken t
        CROSS JOIN LATERAL (VALUES (t.was, -1), (t.status, 1)) AS n (status, n)
        WHERE n.status >= 0
        GROUP BY t.caller, t.creator, t.agent, t.day, n.status
        HAVING sum(n.n) <> 0),
    added AS (
        INSERT INTO execution_totals AS t (role, owner, agent, day, status, n)
        SELECT k.role, k.owner, k.key_agent, k.key_day, c.status, sum(c.n)
        FROM changed c, execution_keys(c.caller, c.creator, c.agent, c.day) k
        GROUP BY k.role, k.owner, k.key_agent, k.key_day, c.status
        ON CONFLICT (role, owner, agent, day, status) DO UPDATE SET n = t.n + excluded.n)
    SELECT count(*) FROM taken INTO v_all;

    WITH taken AS (
        DELETE FROM agent_day_notes WHERE ctid = ANY (ARRAY(SELECT ctid FROM agent_day_notes LIMIT p_most))
        RETURNING agent, day, metric, n, fees, earned),
    added AS (
        INSERT INTO agent_days AS t (agent, day, metric, n, fees)
        SELECT agent, day, metric, sum(n), sum(fees) FROM taken GROUP BY agent, day, metric
        ON CONFLICT (agent, day, metric) DO UPDATE SET n = t.n + excluded.n, fees = t.fees + excluded.fees),
    summed AS (
        SELECT agent, day, sum((metric >= 100)::int * n) AS completed, sum((metric = 0)::int * n) AS failed,
               sum((metric = 1)::int * n) AS disputed, sum(earned) AS earned, sum(fees) AS fees
        FROM taken GROUP BY agent, day),
    of_agents AS (
        INSERT INTO agent_day_sums AS t (agent, day, creator, completed, failed, disputed, earned, fees)
        SELECT s.agent, s.day, (SELECT a.creator FROM mirror_agents a WHERE a.address = s.agent), s.completed, s.failed,
               s.disputed, s.earned, s.fees
        FROM summed s
        ON CONFLICT (agent, day) DO UPDATE SET
            creator = COALESCE(t.creator, excluded.creator), completed = t.completed + excluded.completed,
            failed = t.failed + excluded.failed, disputed = t.disputed + excluded.disputed,
            earned = t.earned + excluded.earned, fees = t.fees + excluded.fees),
    of_market AS (
        INSERT INTO market_days AS t (day, completed, failed, disputed, earned, fees)
        SELECT day, sum(completed), sum(failed), sum(disputed), sum(earned), sum(fees) FROM summed GROUP BY day
        ON CONFLICT (day) DO UPDATE SET
            completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
            disputed = t.disputed + excluded.disputed, earned = t.earned + excluded.earned,
            fees = t.fees + excluded.fees)
    SELECT count(*) FROM taken INTO v_taken;
    v_all := v_all + v_taken;
    DELETE FROM agent_days
    WHERE (agent, day, metric) IN (
        SELECT agent, day, metric FROM agent_days WHERE day < current_date - kept_days() ORDER BY day LIMIT 1000);
    DELETE FROM agent_day_sums
    WHERE (agent, day) IN (
        SELECT agent, day FROM agent_day_sums WHERE day < current_date - kept_days() ORDER BY day LIMIT 1000);
    DELETE FROM market_days WHERE day < current_date - kept_days();

    WITH taken AS (
        DELETE FROM dispute_notes WHERE ctid = ANY (ARRAY(SELECT ctid FROM dispute_notes LIMIT p_most))
        RETURNING raised_by, creator, outcome, n),
    added AS (
        INSERT INTO dispute_totals AS t (role, owner, outcome, n)
        SELECT k.role, k.owner, d.outcome, sum(d.n) FROM taken d, dispute_keys(d.raised_by, d.creator) k
        GROUP BY k.role, k.owner, d.outcome
        ON CONFLICT (role, owner, outcome) DO UPDATE SET n = t.n + excluded.n)
    SELECT count(*) FROM taken INTO v_taken;
    RETURN v_all + v_taken;
END
$$;

-- Makes list and counters again from their sources. Nobody writes meanwhile.
CREATE FUNCTION rebuild_lists() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1668445312);
    TRUNCATE execution_list, execution_totals, execution_changes, agent_days, agent_day_sums, market_days,
             agent_day_notes, dispute_totals, dispute_notes;
    PERFORM fill_execution_list();
    PERFORM fill_agent_days();
    PERFORM fill_dispute_totals();
END
$$;

CREATE FUNCTION rebuild_lists_of_emptied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM rebuild_lists();
    RETURN NULL;
END
$$;
CREATE TRIGGER rebuild_lists AFTER TRUNCATE ON mirror_executions
    FOR EACH STATEMENT EXECUTE FUNCTION rebuild_lists_of_emptied();
CREATE TRIGGER rebuild_lists AFTER TRUNCATE ON mirror_disputes
    FOR EACH STATEMENT EXECUTE FUNCTION rebuild_lists_of_emptied();
CREATE TRIGGER rebuild_lists AFTER TRUNCATE ON executions
    FOR EACH STATEMENT EXECUTE FUNCTION rebuild_lists_of_emptied();

-- Only the lists used these.
DROP INDEX mirror_executions_by_caller, executions_by_caller_and_time;

-- Credentials that need nothing but to be read: they hold, and their last use was noted a moment ago (10 s). A read finds
-- its wallet here in its own statement; all other credentials have no wallet here and are authenticated first. Conditions
-- stand in `CASE`: then a row is found by nothing but its key, also with a plan that was made when the table was empty.
CREATE VIEW keys_in_use AS
SELECT k.session_public_key, k.network,
       CASE WHEN k.revoked_at IS NULL AND k.last_four IS NOT NULL AND k.last_used_at > now() - interval '10 seconds'
                 AND NOT COALESCE((SELECT g.revoked FROM mirror_grants g WHERE g.address = k.grant_address), false)
            THEN k.wallet END AS wallet
FROM api_keys k
WHERE k.proven;

CREATE VIEW sessions_in_use AS
SELECT s.token_hash, s.kind,
       CASE WHEN s.ended_at IS NULL AND s.expires_at > now() AND s.last_used_at > now() - interval '10 seconds'
            THEN s.wallet END AS wallet
FROM sessions s;
