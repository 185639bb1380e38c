-- A paid call's change of state starts one trigger function: `follow_execution` queues the event itself. A second trigger on
-- the row that it writes cost as much as the rest of the log.

CREATE OR REPLACE FUNCTION follow_execution() RETURNS trigger LANGUAGE plpgsql AS $$
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
    v_stage     smallint;
    v_slot      bigint;
    v_earned    bigint := NEW.charged_creator_amount;
    v_hash      bytea := NEW.result_hash;
    v_reason    smallint := NEW.failure_reason;
BEGIN
    -- Refunds after a crash or an outage of this service do not count: neither caller nor creator caused them.
    IF NEW.state = 'failed' AND OLD.state <> 'failed' AND NEW.opened_at IS NOT NULL
       AND NEW.error_code IN ('execution_failed', 'execution_timeout') THEN
        INSERT INTO call_failures (caller, session_key, agent) VALUES (NEW.caller, NEW.session_key, NEW.agent);
    END IF;
    -- While the row is locked, nobody else adds the record to the mirror, changes or removes it.
    SELECT * INTO v_row FROM execution_list WHERE record = NEW.record FOR UPDATE;
    IF v_row.on_chain THEN
        SELECT status, amount, initiated_at, finished_at, slot, COALESCE(creator_amount, v_earned),
               COALESCE(result_hash, v_hash), COALESCE(failure_reason, v_reason)
        INTO v_record, v_amount, v_initiated, v_finished, v_slot, v_earned, v_hash, v_reason
        FROM mirror_executions WHERE address = NEW.record;
    END IF;
    IF v_row.record IS NULL OR v_record = record_status('overturned') THEN
        PERFORM refresh_execution_list(ARRAY[NEW.record], false, false);
        RETURN NULL;
    END IF;
    v_status := listed_status(shown_status(v_record, NEW.state));
    v_cost := shown_cost(v_record, v_amount, NEW.state, NULL);
    v_end := shown_end(v_record, v_initiated, v_finished, NEW.finished_at);
    v_stage := execution_stage(v_record, NEW.state, NEW.opened_at);
    IF (v_status, v_cost, v_end, v_stage) IS DISTINCT FROM (v_row.status, v_row.cost, v_row.completed_at, v_row.stage) THEN
        UPDATE execution_list SET status = v_status, cost = v_cost, completed_at = v_end, stage = v_stage
        WHERE record = NEW.record;
    END IF;
    -- As `log_execution` does for other changes of the row.
    IF v_stage <> v_row.stage THEN
        INSERT INTO event_queue (wallet, correction, slot, agent, execution_id, record, old_stage, stage, amount,
                                 creator_amount, result_hash, failure_reason, error_code)
        SELECT v_row.caller, v_stage < v_row.stage OR v_row.stage IN (3, 5),
               GREATEST(v_slot, (SELECT max(t.slot) FROM execution_transactions t WHERE t.record = NEW.record)),
               v_row.agent, v_row.execution_id, NEW.record, v_row.stage, v_stage, v_amount, v_earned, v_hash, v_reason,
               NEW.error_code
        FROM logged_market;
    END IF;
    IF v_status <> v_row.status THEN
        INSERT INTO execution_changes (caller, creator, agent, day, was, status)
        VALUES (v_row.caller, v_row.creator, v_row.agent, utc_day(v_row.initiated_at), v_row.status, v_status);
    END IF;
    RETURN NULL;
END
$$;

-- Only changes that `refresh_execution_list` makes, which sets each column.
DROP TRIGGER log_updated ON execution_list;
CREATE TRIGGER log_updated AFTER UPDATE OF on_chain ON execution_list FOR EACH ROW
    WHEN (OLD.stage <> NEW.stage OR OLD.initiated_at < NEW.initiated_at AND NEW.stage > 0)
    EXECUTE FUNCTION log_execution();

-- As in `0020_events.sql`, and the resolver hears of each dispute as well.
CREATE OR REPLACE FUNCTION log_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_row   mirror_disputes := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    v_is_new boolean := TG_OP = 'INSERT';
    v_back  boolean := TG_OP = 'DELETE';
    v_types text[] := '{}';
BEGIN
    IF NOT is_logged() THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        v_is_new := is_next_use(OLD.raised_at, NEW.raised_at);
        v_back := OLD.revision < 0;
        IF NOT v_is_new AND (OLD.outcome, OLD.answered_at IS NULL) = (NEW.outcome, NEW.answered_at IS NULL) THEN
            RETURN NULL;
        END IF;
    END IF;
    IF v_is_new OR v_back AND (TG_OP = 'DELETE' OR NEW.outcome = dispute_outcome('open') AND NEW.answered_at IS NULL) THEN
        v_types := v_types || 'dispute.opened'::text;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        IF NEW.answered_at IS NOT NULL AND (v_is_new OR OLD.answered_at IS NULL
                                            OR v_back AND NEW.outcome = dispute_outcome('open')) THEN
            v_types := v_types || 'dispute.answered'::text;
        END IF;
        IF NEW.outcome <> dispute_outcome('open') AND (v_is_new OR OLD.outcome <> NEW.outcome) THEN
            v_types := v_types || CASE NEW.outcome WHEN dispute_outcome('expired') THEN 'dispute.expired'
                                                   ELSE 'dispute.resolved' END;
        END IF;
    END IF;
    INSERT INTO event_queue (wallet, type, correction, slot, agent, execution_id, data)
    SELECT w.wallet, t.type, v_back, v_row.slot, v_row.agent,
           (SELECT execution_id FROM mirror_executions m WHERE m.address = v_row.execution),
           jsonb_strip_nulls(jsonb_build_object(
               'on_chain_record', key_address(v_row.execution),
               'dispute', key_address(v_row.address),
               'outcome', CASE
                   WHEN TG_OP = 'DELETE' THEN NULL
                   WHEN t.type IN ('dispute.opened', 'dispute.answered') THEN dispute_outcome('open')
                   ELSE v_row.outcome END,
               'bond_usdc', v_row.bond,
               'compensation_usdc', CASE WHEN t.type = 'dispute.resolved' THEN v_row.compensation END,
               'penalty_usdc', CASE WHEN t.type = 'dispute.resolved'
                                    THEN GREATEST(v_row.slash_amount - v_row.compensation, 0) END))
    FROM unnest(v_types) WITH ORDINALITY AS t (type, place)
    CROSS JOIN (SELECT v_row.raised_by AS wallet UNION SELECT v_row.creator
                UNION SELECT resolver FROM mirror_config WHERE resolver IS NOT NULL) AS w
    ORDER BY t.place;
    RETURN NULL;
END
$$;
