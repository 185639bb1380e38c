-- Three functions that keep lists and counters correct, in addition to the triggers: one names the creators of executions
-- whose listing arrives late, one adds notes to counters, and one makes everything again.

-- A listing that arrives after its executions names their creator. Rows that somebody else changes at this moment are
-- left to the next round, so nobody waits; and no more than some at once.
CREATE FUNCTION name_creators_of(p_agents text[], p_most integer) RETURNS void LANGUAGE sql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH named AS (
        UPDATE execution_list l SET creator = a.creator
        FROM (SELECT record FROM execution_list WHERE agent = ANY (p_agents) AND creator IS NULL AND on_chain
              LIMIT p_most FOR UPDATE SKIP LOCKED) AS found, mirror_agents a
        WHERE l.record = found.record AND a.address = l.agent
        RETURNING l.creator, l.agent, l.initiated_at, l.status)
    INSERT INTO execution_changes (creator, agent, day, was, status)
    SELECT creator, agent, utc_day(initiated_at), -1, status FROM named;
    UPDATE mirror_disputes d SET creator = a.creator
    FROM (SELECT address FROM mirror_disputes WHERE agent = ANY (p_agents) AND creator IS NULL
          LIMIT p_most FOR UPDATE SKIP LOCKED) AS found, mirror_agents a
    WHERE d.address = found.address AND a.address = d.agent;
$$;

CREATE FUNCTION follow_arrived_listings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- An upsert is an insertion as well, often of nothing.
    IF NOT EXISTS (SELECT FROM inserted) THEN
        RETURN NULL;
    END IF;
    PERFORM name_creators_of(ARRAY(SELECT address FROM inserted), 1000);
    UPDATE mirror_agents a SET name = d.name, tagline = d.tagline, tags = d.tags
    FROM inserted i JOIN agent_metadata d ON d.agent = i.address AND d.sha256 = i.metadata_hash AND d.error IS NULL
    WHERE a.address = i.address AND a.name IS NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER follow_arrived AFTER INSERT ON mirror_agents
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION follow_arrived_listings();

-- The same for what arrivals left: the rest of many, what was locked, and what a transaction wrote that did not see the
-- listing. It steps over the index from agent to agent: while a mirror is filled, one agent can have many executions and
-- no listing yet.
CREATE FUNCTION name_creators(p_most integer) RETURNS void LANGUAGE sql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH RECURSIVE unnamed (agent) AS (
        (SELECT agent FROM execution_list WHERE creator IS NULL AND on_chain ORDER BY agent LIMIT 1)
        UNION ALL
        SELECT (SELECT l.agent FROM execution_list l
                WHERE l.creator IS NULL AND l.on_chain AND l.agent > u.agent ORDER BY l.agent LIMIT 1)
        FROM unnamed u WHERE u.agent IS NOT NULL)
    SELECT name_creators_of(ARRAY(
        (SELECT u.agent FROM unnamed u JOIN mirror_agents a ON a.address = u.agent LIMIT p_most)
        UNION
        (SELECT d.agent FROM mirror_disputes d JOIN mirror_agents a ON a.address = d.agent
         WHERE d.creator IS NULL LIMIT p_most)), p_most);
$$;

-- Adds at most `p_most` notes of each kind to the counters. One transaction at a time: the others do nothing. Returns how
-- many notes were added.
CREATE FUNCTION fold_list_notes(p_most integer) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_taken bigint;
    v_all   bigint;
BEGIN
    -- Who empties the mirror holds its tables and then waits for the lock below: so this waits for the tables first.
    LOCK TABLE mirror_agents, mirror_disputes IN ROW EXCLUSIVE MODE;
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
        INSERT INTO agent_days AS t (agent, day, metric, n, fees, earned)
        SELECT agent, day, metric, sum(n), sum(fees), sum(earned) FROM taken GROUP BY agent, day, metric
        ON CONFLICT (agent, day, metric) DO UPDATE SET
            n = t.n + excluded.n, fees = t.fees + excluded.fees, earned = t.earned + excluded.earned),
    of_market AS (
        INSERT INTO market_days AS t (day, completed, failed, disputed, earned, fees)
        SELECT day, sum(c.completed), sum(c.failed), sum(c.disputed), sum(earned), sum(fees)
        FROM taken, day_counts(taken.metric, taken.n) c GROUP BY day
        ON CONFLICT (day) DO UPDATE SET
            completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
            disputed = t.disputed + excluded.disputed, earned = t.earned + excluded.earned,
            fees = t.fees + excluded.fees)
    SELECT count(*) FROM taken INTO v_taken;
    v_all := v_all + v_taken;
    DELETE FROM agent_days
    WHERE (agent, day, metric) IN (
        SELECT agent, day, metric FROM agent_days WHERE day < current_date - kept_days() ORDER BY day LIMIT 1000);
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

-- Makes the list again from its sources, and the counters from notes, which are folded like any others. Nobody writes
-- meanwhile.
CREATE FUNCTION rebuild_lists() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1668445312);
    TRUNCATE execution_list, execution_totals, execution_changes, agent_days, market_days,
             agent_day_notes, dispute_totals, dispute_notes;
    INSERT INTO execution_list SELECT * FROM execution_list_sources;
    INSERT INTO execution_changes (caller, creator, agent, day, was, status)
    SELECT caller, creator, agent, utc_day(initiated_at), -1, status FROM execution_list WHERE status >= 0;
    INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
    SELECT i.agent, utc_day(i.finished_at), m.metric, 1, m.fees, m.earned
    FROM mirror_executions i,
         day_metrics(i.status, i.agents_failure, i.dispute_count, i.settled_by, i.execution_time_ms, i.platform_amount,
                     i.creator_amount) m
    WHERE i.finished_at > now() - make_interval(days => kept_days());
    PERFORM fill_dispute_totals();
END
$$;
