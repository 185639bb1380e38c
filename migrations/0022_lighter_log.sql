-- What the event log costs a paid call.

-- `timestamptz + interval` is stable, not immutable. PostgreSQL does not inline a function that promises more than its body.
CREATE OR REPLACE FUNCTION is_next_use(began timestamptz, next timestamptz) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN next >= began + interval '72 hours';

-- One row if a change is one of the market's, as `is_logged` says, for statements that join it.
CREATE VIEW logged_market AS
SELECT FROM mirror_checkpoint
WHERE only_row AND snapshot_at IS NOT NULL AND current_setting('crtx.log', true) IS DISTINCT FROM 'off';

CREATE OR REPLACE FUNCTION is_logged() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM logged_market);
END
$$;

-- As in `0020_events.sql`, with one statement instead of three.
-- What the caller hears, and the creator of a payment. Whoever changes a stage holds the lock of the row.
CREATE OR REPLACE FUNCTION log_execution() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_row   execution_list := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    v_was   smallint := 0;
    v_now   smallint := 0;
    v_types text[];
    v_back  boolean;
BEGIN
    -- A later use of the address begins anew.
    IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND NOT is_next_use(OLD.initiated_at, NEW.initiated_at) THEN
        v_was := OLD.stage;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        v_now := NEW.stage;
    END IF;
    IF v_was = v_now THEN
        RETURN NULL;
    END IF;
    -- An execution that failed before it was opened can still turn out to be opened, and is then refunded.
    v_back := v_now < v_was OR v_was IN (3, 5);
    v_types := CASE WHEN v_was = 0 AND v_now IN (1, 2, 3, 5) THEN ARRAY['execution.opened'] ELSE '{}' END
        || CASE v_now
            WHEN 2 THEN ARRAY['execution.running']
            WHEN 3 THEN ARRAY['execution.completed', 'payout']
            WHEN 4 THEN ARRAY['execution.failed']
            WHEN 5 THEN CASE WHEN v_was <> 4 THEN ARRAY['execution.failed'] ELSE '{}' END || 'execution.refunded'::text
            ELSE CASE WHEN v_back THEN ARRAY['execution.opened'] ELSE '{}' END
        END
        || CASE WHEN v_was = 3 THEN ARRAY['payout'] ELSE '{}' END;
    INSERT INTO event_queue (wallet, type, correction, slot, agent, execution_id, data)
    SELECT CASE WHEN t.type = 'payout' THEN v_row.creator ELSE v_row.caller END, t.type, v_back,
           GREATEST(m.slot, (SELECT max(s.slot) FROM execution_transactions s WHERE s.record = v_row.record)), v_row.agent,
           v_row.execution_id,
           jsonb_strip_nulls(jsonb_build_object(
               'on_chain_record', key_address(v_row.record),
               'status', CASE
                   WHEN v_now = 0 THEN NULL
                   WHEN t.type = 'execution.opened' THEN 'pending'
                   WHEN v_now = 2 THEN 'running'
                   WHEN v_now = 3 THEN 'completed'
                   WHEN v_now IN (4, 5) THEN 'failed'
                   ELSE 'pending' END,
               'amount_usdc', CASE
                   WHEN t.type <> 'payout' THEN COALESCE(m.amount, e.charged_amount, e.amount)
                   WHEN v_now = 3 THEN COALESCE(m.creator_amount, e.charged_creator_amount, 0)
                   ELSE 0 END,
               'result_hash', CASE WHEN v_now = 3 AND t.type <> 'execution.opened'
                   THEN 'sha256:' || encode(COALESCE(m.result_hash, e.result_hash), 'hex') END,
               'failure_reason', CASE WHEN v_now = 5 AND t.type <> 'execution.opened'
                   THEN COALESCE(m.failure_reason, e.failure_reason) END,
               'error_code', CASE WHEN v_now IN (4, 5) AND t.type <> 'execution.opened' THEN e.error_code END))
    FROM logged_market CROSS JOIN unnest(v_types) WITH ORDINALITY AS t (type, place)
    LEFT JOIN executions e ON e.record = v_row.record
    LEFT JOIN mirror_executions m ON m.address = v_row.record
    ORDER BY t.place;
    RETURN NULL;
END
$$;
