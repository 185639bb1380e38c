-- What follows from new, changed and lost records: their rows in the list, and notes about totals and days. One function,
-- because each one would cost the write of a single row about as much as the row.
CREATE FUNCTION follow_records() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_records text[];
    -- As they were and as they are now. An open record counts nowhere.
    v_was     mirror_executions[];
    v_now     mirror_executions[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(i.address ORDER BY i.address), array_agg(i) FILTER (WHERE i.status <> record_status('open'))
        FROM inserted i INTO v_records, v_now;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT array_agg(d.address ORDER BY d.address), array_agg(d) FILTER (WHERE d.status <> record_status('open'))
        FROM deleted d INTO v_records, v_was;
    ELSE
        SELECT array_agg(u.address ORDER BY u.address), array_agg(o) FILTER (WHERE o.status <> record_status('open')),
               array_agg(u) FILTER (WHERE u.status <> record_status('open'))
        FROM updated u JOIN outdated o ON o.address = u.address
        WHERE (o.status, o.finished_at, o.amount, o.initiated_at, o.execution_id, o.agent, o.caller, o.creator_amount,
               o.platform_amount, o.dispute_count, o.execution_time_ms)
              IS DISTINCT FROM
              (u.status, u.finished_at, u.amount, u.initiated_at, u.execution_id, u.agent, u.caller, u.creator_amount,
               u.platform_amount, u.dispute_count, u.execution_time_ms)
        INTO v_records, v_was, v_now;
    END IF;
    -- An upsert is an insertion and an update as well, often of nothing.
    IF v_records IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM refresh_execution_list(v_records, TG_OP <> 'DELETE', TG_OP = 'DELETE');
    IF v_was IS NULL AND v_now IS NULL THEN
        RETURN NULL;
    END IF;
    WITH changed AS (
        SELECT 1 AS n, * FROM unnest(v_now) UNION ALL SELECT -1, * FROM unnest(v_was)),
    days AS (
        INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
        SELECT c.agent, utc_day(c.finished_at), m.metric, sum(c.n), sum(c.n * m.fees), sum(c.n * m.earned)
        FROM changed c
        CROSS JOIN LATERAL day_metrics(c.status, c.dispute_count, c.execution_time_ms, c.platform_amount,
                                       c.creator_amount) m
        WHERE c.finished_at > now() - make_interval(days => kept_days())
        GROUP BY 1, 2, 3)
    INSERT INTO mirror_total_notes (agent, caller, completed, failed, spent, earned, fees)
    SELECT agent, caller, sum(n * settled), sum(n * refunded), sum(n * settled * amount),
           sum(n * settled * creator_amount), sum(n * settled * platform_amount)
    FROM (SELECT *, is_settled(status)::int AS settled, is_refunded(status)::int AS refunded FROM changed) AS c
    GROUP BY agent, caller;
    RETURN NULL;
END
$$;

CREATE TRIGGER follow_inserted AFTER INSERT ON mirror_executions
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION follow_records();
CREATE TRIGGER follow_updated AFTER UPDATE ON mirror_executions
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated FOR EACH STATEMENT EXECUTE FUNCTION follow_records();
-- Records that a rolled-back chain lost.
CREATE TRIGGER follow_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION follow_records();
