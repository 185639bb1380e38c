-- What follows from new, changed and lost records: their rows in the list, and notes about totals and days. One function,
-- because each one would cost the write of a single row about as much as the row.
CREATE FUNCTION follow_records() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_records text[];
    -- As they were and as they are now. An open record counts nowhere.
    v_was     mirror_executions[] := '{}';
    v_now     mirror_executions[] := '{}';
BEGIN
    IF TG_OP = 'INSERT' THEN
        v_records := ARRAY(SELECT address FROM inserted ORDER BY address);
        v_now := ARRAY(SELECT i FROM inserted i WHERE i.status <> record_status('open'));
    ELSIF TG_OP = 'DELETE' THEN
        v_records := ARRAY(SELECT address FROM deleted ORDER BY address);
        v_was := ARRAY(SELECT d FROM deleted d WHERE d.status <> record_status('open'));
    ELSE
        -- No join: its plan may have been made for one row, and then compares every row with every other.
        v_records := ARRAY(
            SELECT c.address
            FROM (SELECT address, status, finished_at, amount, initiated_at, execution_id, agent, caller, creator_amount,
                         platform_amount, dispute_count, execution_time_ms FROM updated
                  EXCEPT
                  SELECT address, status, finished_at, amount, initiated_at, execution_id, agent, caller, creator_amount,
                         platform_amount, dispute_count, execution_time_ms FROM outdated) AS c
            ORDER BY c.address);
        -- What the other rows count cancels out.
        IF cardinality(v_records) > 0 THEN
            v_was := ARRAY(SELECT o FROM outdated o WHERE o.status <> record_status('open'));
            v_now := ARRAY(SELECT u FROM updated u WHERE u.status <> record_status('open'));
        END IF;
    END IF;
    -- An upsert is an insertion and an update as well, often of nothing.
    IF cardinality(v_records) = 0 THEN
        RETURN NULL;
    END IF;
    PERFORM refresh_execution_list(v_records, TG_OP <> 'DELETE', TG_OP = 'DELETE');
    IF cardinality(v_was || v_now) = 0 THEN
        RETURN NULL;
    END IF;
    WITH changed AS (
        SELECT 1 AS n, * FROM unnest(v_now) UNION ALL SELECT -1, * FROM unnest(v_was)),
    days AS (
        INSERT INTO agent_day_notes (agent, day, metric, n, fees, earned)
        SELECT c.agent, utc_day(c.finished_at), m.metric, sum(c.n), sum(c.n * m.fees), sum(c.n * m.earned)
        FROM changed c
        CROSS JOIN LATERAL day_metrics(c.status, c.agents_failure, c.dispute_count, c.settled_by, c.execution_time_ms,
                                       c.platform_amount, c.creator_amount) m
        WHERE c.finished_at > now() - make_interval(days => kept_days())
        GROUP BY 1, 2, 3)
    INSERT INTO mirror_total_notes (agent, caller, completed, failed, spent, earned, fees, disputed, upheld)
    SELECT agent, caller, sum(n * settled), sum(n * refunded), sum(n * settled * amount),
           sum(n * settled * creator_amount), sum(n * (settled - upheld) * LEAST(platform_amount, trusted_fee())),
           sum(n * settled * dispute_count), sum(n * upheld)
    FROM (SELECT *, is_settled(status)::int AS settled, is_refunded(status)::int AS refunded,
                 (status = record_status('overturned'))::int AS upheld FROM changed) AS c
    GROUP BY agent, caller;
    RETURN NULL;
END
$$;

-- Gives what belongs to an earlier opening of a record its key: what the gateway ended, and the dispute. `p_next`: when the
-- record was opened again, at least a dispute window later, so the clock of the gateway need not be exact.
CREATE FUNCTION move_to_past(p_record text, p_opened timestamptz, p_next timestamptz) RETURNS void LANGUAGE sql AS $$
    WITH moved AS (
        UPDATE executions SET record = past_key(p_record, p_opened)
        WHERE record = p_record AND finished_at IS NOT NULL AND opened_at < p_opened + (p_next - p_opened) / 2
        RETURNING finished_at)
    UPDATE execution_transactions t SET record = past_key(p_record, p_opened)
    FROM moved WHERE t.record = p_record AND t.created_at <= moved.finished_at;
    UPDATE mirror_disputes SET execution = past_key(p_record, p_opened)
    WHERE execution = p_record AND raised_at < p_next;
    SELECT refresh_execution_list(ARRAY[p_record], false, false);
$$;

-- The record of an earlier opening keeps its row.
CREATE FUNCTION keep_past_opening() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_past mirror_executions := OLD;
BEGIN
    PERFORM move_to_past(OLD.address, OLD.opened_at, NEW.opened_at);
    v_past.address := past_key(OLD.address, OLD.opened_at);
    v_past.closed_at_slot := COALESCE(OLD.closed_at_slot, NEW.slot);
    INSERT INTO mirror_executions SELECT v_past.*;
    NEW.initiated_at := COALESCE((SELECT created_at FROM executions WHERE record = NEW.address), NEW.opened_at);
    RETURN NEW;
END
$$;
CREATE TRIGGER keep_past BEFORE UPDATE ON mirror_executions FOR EACH ROW
    WHEN (is_next_use(OLD.opened_at, NEW.opened_at)) EXECUTE FUNCTION keep_past_opening();

CREATE TRIGGER follow_inserted AFTER INSERT ON mirror_executions
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION follow_records();
CREATE TRIGGER follow_updated AFTER UPDATE ON mirror_executions
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated FOR EACH STATEMENT EXECUTE FUNCTION follow_records();
-- Records that a rolled-back chain lost.
CREATE TRIGGER follow_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION follow_records();
