-- What follows from new, changed and lost records, in one function for each: the list, the notes about callers and
-- wallets, and those about days. Each function would cost the write of a single row about as much as the row.
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
    SELECT i.agent, utc_day(i.finished_at), m.metric, count(*), sum(m.fees), sum(m.earned)
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
    SELECT c.agent, utc_day(c.finished_at), m.metric, sum(c.n), sum(c.n * m.fees), sum(c.n * m.earned)
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

-- Records that a rolled-back chain lost.
CREATE FUNCTION follow_deleted_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refresh_execution_list(ARRAY(SELECT address FROM deleted ORDER BY address), false, true);
    INSERT INTO mirror_caller_changes (agent, caller, executions, fees)
    SELECT agent, caller, -count(*), -sum(platform_amount) FROM deleted WHERE is_settled(status) GROUP BY agent, caller;
    INSERT INTO mirror_wallet_changes (caller, agent, completed, failed, spent, earned)
    SELECT caller, agent, -sum(is_settled(status)::int), -sum(is_refunded(status)::int),
           -sum(is_settled(status)::int * amount), -sum(is_settled(status)::int * creator_amount)
    FROM deleted WHERE is_settled(status) OR is_refunded(status) GROUP BY caller, agent;
    INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
    SELECT d.agent, utc_day(d.finished_at), m.metric, -count(*), -sum(m.fees), -sum(m.earned)
    FROM deleted d,
         day_metrics(d.status, d.dispute_count, d.execution_time_ms, d.platform_amount, d.creator_amount) m
    WHERE d.finished_at > now() - make_interval(days => kept_days())
    GROUP BY 1, 2, 3;
    RETURN NULL;
END
$$;
CREATE TRIGGER follow_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION follow_deleted_records();
