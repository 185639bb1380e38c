-- A paid call's transaction queues only what changed of an execution. `number_events`, for which no caller waits, makes the
-- events of it, for all executions of a round at once.

-- A row is one event with its `type` and `data`, or, without them, a change of an execution: the columns from `record` on.
ALTER TABLE event_queue
    DROP COLUMN event_id,
    ALTER COLUMN type DROP NOT NULL,
    ALTER COLUMN data DROP NOT NULL,
    ADD COLUMN record text,
    -- `execution_stage(…)` before and after the change.
    ADD COLUMN old_stage smallint,
    ADD COLUMN stage smallint,
    ADD COLUMN amount bigint,
    ADD COLUMN creator_amount bigint,
    ADD COLUMN result_hash bytea,
    ADD COLUMN failure_reason smallint,
    ADD COLUMN error_code text,
    ADD CONSTRAINT event_or_change CHECK (
        CASE WHEN record IS NULL THEN num_nulls(type, data) = 0
             ELSE num_nulls(wallet, agent, execution_id, old_stage, stage) = 0 AND num_nonnulls(type, data) = 0 END);

-- Whoever changes a stage holds the lock of the row.
CREATE OR REPLACE FUNCTION log_execution() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- A later use of the address begins anew.
    v_old smallint := CASE WHEN is_next_use(OLD.initiated_at, NEW.initiated_at) THEN 0 ELSE COALESCE(OLD.stage, 0) END;
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
        NEW.stage := 0;
    END IF;
    INSERT INTO event_queue (wallet, correction, slot, agent, execution_id, record, old_stage, stage, amount, creator_amount,
                             result_hash, failure_reason, error_code)
    -- An execution that failed before it was opened can still turn out to be opened, and is then refunded.
    SELECT NEW.caller, NEW.stage < v_old OR v_old IN (3, 5),
           GREATEST(m.slot, (SELECT max(t.slot) FROM execution_transactions t WHERE t.record = NEW.record)),
           NEW.agent, NEW.execution_id, NEW.record, v_old, NEW.stage,
           COALESCE(m.amount, e.charged_amount, e.amount), COALESCE(m.creator_amount, e.charged_creator_amount),
           COALESCE(m.result_hash, e.result_hash), COALESCE(m.failure_reason, e.failure_reason), e.error_code
    FROM logged_market
    LEFT JOIN executions e ON e.record = NEW.record
    LEFT JOIN mirror_executions m ON m.address = NEW.record
    WHERE v_old <> NEW.stage;
    RETURN NULL;
END
$$;

-- The events of a change of an execution, in their order: what the caller hears, and the creator of a payment.
CREATE FUNCTION execution_events(change event_queue) RETURNS TABLE (place bigint, type text, data jsonb)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT t.place, t.type, jsonb_strip_nulls(jsonb_build_object(
        'on_chain_record', key_address(change.record),
        'status', CASE
            WHEN change.stage = 0 THEN NULL
            WHEN t.type = 'execution.opened' THEN 'pending'
            WHEN change.stage = 2 THEN 'running'
            WHEN change.stage = 3 THEN 'completed'
            WHEN change.stage IN (4, 5) THEN 'failed'
            ELSE 'pending' END,
        'amount_usdc', CASE
            WHEN t.type <> 'payout' THEN change.amount
            WHEN change.stage = 3 THEN COALESCE(change.creator_amount, 0)
            ELSE 0 END,
        'result_hash', CASE WHEN change.stage = 3 AND t.type <> 'execution.opened'
            THEN 'sha256:' || encode(change.result_hash, 'hex') END,
        'failure_reason', CASE WHEN change.stage = 5 AND t.type <> 'execution.opened' THEN change.failure_reason END,
        'error_code', CASE WHEN change.stage IN (4, 5) AND t.type <> 'execution.opened' THEN change.error_code END))
    FROM unnest(
        CASE WHEN change.old_stage = 0 AND change.stage IN (1, 2, 3, 5) THEN ARRAY['execution.opened'] ELSE '{}' END
        || CASE change.stage
            WHEN 2 THEN ARRAY['execution.running']
            WHEN 3 THEN ARRAY['execution.completed', 'payout']
            WHEN 4 THEN ARRAY['execution.failed']
            WHEN 5 THEN CASE WHEN change.old_stage <> 4 THEN ARRAY['execution.failed'] ELSE '{}' END
                || ARRAY['execution.refunded']
            ELSE CASE WHEN change.correction THEN ARRAY['execution.opened'] ELSE '{}' END
        END
        || CASE WHEN change.old_stage = 3 THEN ARRAY['payout'] ELSE '{}' END
    ) WITH ORDINALITY AS t (type, place)
$$;

-- As in `0020_events.sql`, and makes the events of executions.
CREATE OR REPLACE FUNCTION number_events(p_most integer) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_numbered bigint;
    v_wallets  text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1668445313) THEN
        RETURN 0;
    END IF;
    WITH ready AS (
        SELECT position FROM event_queue q
        WHERE wallet IS NOT NULL OR EXISTS (SELECT FROM mirror_agents a WHERE a.address = q.agent)
        ORDER BY position LIMIT p_most),
    taken AS (
        DELETE FROM event_queue q USING ready r WHERE q.position = r.position RETURNING q),
    made AS (
        SELECT (t.q).position, e.place, gen_random_uuid() AS event_id, e.type, (t.q).correction, (t.q).at, (t.q).slot,
               (t.q).agent, (t.q).execution_id, e.data,
               CASE WHEN (t.q).wallet IS NULL OR (t.q).record IS NOT NULL AND e.type = 'payout' THEN a.creator
                    ELSE (t.q).wallet END AS wallet
        FROM taken t
        CROSS JOIN LATERAL (
            SELECT 1 AS place, (t.q).type, (t.q).data WHERE (t.q).record IS NULL
            UNION ALL SELECT * FROM execution_events(t.q) WHERE (t.q).record IS NOT NULL) AS e
        LEFT JOIN mirror_agents a ON a.address = (t.q).agent),
    -- The creator is not known yet.
    kept AS (
        INSERT INTO event_queue (type, correction, at, slot, agent, execution_id, data)
        SELECT type, correction, at, slot, agent, execution_id, data FROM made WHERE wallet IS NULL
        ORDER BY position, place),
    numbered AS (
        SELECT *, row_number() OVER w AS number, lag(event_id) OVER w AS before
        FROM made WHERE wallet IS NOT NULL WINDOW w AS (PARTITION BY wallet ORDER BY position, place)),
    written AS (
        INSERT INTO events (wallet, sequence, event_id, previous, type, correction, at, slot, agent, execution_id, data)
        SELECT n.wallet, COALESCE(h.sequence, 0) + n.number, n.event_id, COALESCE(n.before, h.event_id), n.type,
               n.correction, n.at, n.slot, n.agent, n.execution_id, n.data
        FROM numbered n LEFT JOIN event_heads h ON h.wallet = n.wallet
        ORDER BY n.position, n.place
        RETURNING wallet, sequence, event_id),
    moved AS (
        INSERT INTO event_heads AS h (wallet, sequence, event_id)
        SELECT DISTINCT ON (wallet) wallet, sequence, event_id FROM written ORDER BY wallet, sequence DESC
        ON CONFLICT (wallet) DO UPDATE SET sequence = excluded.sequence, event_id = excluded.event_id
        RETURNING wallet)
    SELECT (SELECT count(*) FROM written), (SELECT string_agg(wallet, ',') FROM moved) INTO v_numbered, v_wallets;
    IF v_numbered > 0 THEN
        PERFORM pg_notify('crtx_events', CASE WHEN length(v_wallets) < 7900 THEN v_wallets ELSE '' END);
    END IF;
    RETURN v_numbered;
END
$$;
