-- The event log: what happens to a wallet's executions, disputes, listings and keys.
--
-- The transaction that changes a state puts an event into `event_queue`; triggers do that, so it holds whatever changes the
-- state. `number_events` moves what was committed into `events` and gives it the next sequence of its wallet. So a
-- transaction that commits late is numbered late and never skipped, and no transaction waits for another one's number.
--
-- Two events of one execution, dispute, listing or key are queued under the lock of its row, so the second one has the
-- higher position, and whoever sees it sees the first one as well. They are numbered in this order.

CREATE TABLE event_queue (
    position     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id     uuid NOT NULL DEFAULT gen_random_uuid(),
    -- Null: the creator of `agent`, whose listing the mirror does not have yet. It is numbered when that is known.
    wallet       text,
    type         text NOT NULL,
    -- The network took back what an earlier event said. The event says what holds now.
    correction   boolean NOT NULL DEFAULT false,
    at           timestamptz NOT NULL DEFAULT now(),
    -- Null: not seen on chain, or not on chain at all.
    slot         bigint,
    agent        text,
    execution_id uuid,
    -- The fields of `crtx_store::events::EventData`.
    data         jsonb NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE events (
    wallet       text NOT NULL,
    -- From 1 on, without a gap.
    sequence     bigint NOT NULL,
    event_id     uuid NOT NULL,
    -- The event before it of the same wallet; null for the first one.
    previous     uuid,
    type         text NOT NULL,
    correction   boolean NOT NULL,
    at           timestamptz NOT NULL,
    slot         bigint,
    agent        text,
    execution_id uuid,
    data         jsonb NOT NULL,
    numbered_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (wallet, sequence)
);
CREATE INDEX events_of_execution ON events (wallet, execution_id, sequence) WHERE execution_id IS NOT NULL;
-- For their end.
CREATE INDEX events_by_age ON events (numbered_at);

-- The newest event of each wallet, and the first one that is kept.
CREATE TABLE event_heads (
    wallet   text PRIMARY KEY,
    sequence bigint NOT NULL,
    event_id uuid NOT NULL,
    oldest   bigint NOT NULL DEFAULT 1
) WITH (fillfactor = 70);

-- Numbers what is in the queue, at most `p_most` events, oldest first. One transaction at a time: the others number
-- nothing. Who waits for events hears of them (`LISTEN crtx_events`) with the wallets that have new ones, or with nothing if
-- they are too many for one message. Returns how many it numbered.
CREATE FUNCTION number_events(p_most integer) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    v_numbered bigint;
    v_wallets  text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1668445313) THEN
        RETURN 0;
    END IF;
    WITH ready AS (
        SELECT q.position, COALESCE(q.wallet, a.creator) AS wallet
        FROM event_queue q LEFT JOIN mirror_agents a ON q.wallet IS NULL AND a.address = q.agent
        WHERE COALESCE(q.wallet, a.creator) IS NOT NULL
        ORDER BY q.position LIMIT p_most),
    taken AS (
        DELETE FROM event_queue q USING ready r WHERE q.position = r.position
        RETURNING q.position, r.wallet, q.event_id, q.type, q.correction, q.at, q.slot, q.agent, q.execution_id, q.data),
    numbered AS (
        SELECT t.*, row_number() OVER w AS place, lag(t.event_id) OVER w AS before
        FROM taken t WINDOW w AS (PARTITION BY t.wallet ORDER BY t.position)),
    written AS (
        INSERT INTO events (wallet, sequence, event_id, previous, type, correction, at, slot, agent, execution_id, data)
        SELECT n.wallet, COALESCE(h.sequence, 0) + n.place, n.event_id, COALESCE(n.before, h.event_id), n.type, n.correction,
               n.at, n.slot, n.agent, n.execution_id, n.data
        FROM numbered n LEFT JOIN event_heads h ON h.wallet = n.wallet
        ORDER BY n.position
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

-- Deletes events that were numbered before `p_before`, at most about `p_most` at once. Returns how many.
CREATE FUNCTION drop_events(p_before timestamptz, p_most integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_dropped bigint;
BEGIN
    WITH old AS (
        SELECT wallet, max(sequence) AS last
        FROM (SELECT wallet, sequence FROM events WHERE numbered_at < p_before ORDER BY numbered_at LIMIT p_most) AS due
        GROUP BY wallet),
    moved AS (
        UPDATE event_heads h SET oldest = o.last + 1 FROM old o WHERE h.wallet = o.wallet),
    dropped AS (
        DELETE FROM events e USING old o WHERE e.wallet = o.wallet AND e.sequence <= o.last RETURNING 1)
    SELECT count(*) FROM dropped INTO v_dropped;
    RETURN v_dropped;
END
$$;

-- Whether a change is one of the market's. It is not while the mirror is filled for the first time, and while rows are
-- made again from their sources (`SET LOCAL crtx.log = 'off'`).
CREATE FUNCTION is_logged() RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN current_setting('crtx.log', true) IS DISTINCT FROM 'off'
        AND EXISTS (SELECT FROM mirror_checkpoint WHERE only_row AND snapshot_at IS NOT NULL);
END
$$;

-- Executions.

-- How far the log has followed an execution: 0 nothing that others see, 1 opened, 2 running, 3 completed, whatever
-- a dispute decides later, 4 failed before it was opened, 5 refunded.
ALTER TABLE execution_list ADD COLUMN stage smallint NOT NULL DEFAULT 0;

-- `record`: record_status(…); null if the mirror has no record.
CREATE FUNCTION execution_stage(record smallint, state text, opened_at timestamptz) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN is_settled(record) THEN 3
    WHEN is_refunded(record) THEN 5
    WHEN state = 'completed' THEN 3
    WHEN state = 'failed' THEN CASE WHEN opened_at IS NULL THEN 4 ELSE 5 END
    WHEN state IN ('running', 'result_stored', 'settling', 'refunding') THEN 2
    WHEN record IS NOT NULL OR opened_at IS NOT NULL THEN 1
    ELSE 0
END::smallint;

CREATE OR REPLACE VIEW shown_executions_off_chain AS
SELECT e.record, e.execution_id, e.caller, e.agent, shown_status(NULL, e.state) AS status,
       shown_cost(NULL, COALESCE(e.charged_amount, e.amount), e.state, NULL) AS cost, e.created_at AS initiated_at,
       e.finished_at AS completed_at, execution_stage(NULL, e.state, e.opened_at) AS stage
FROM executions e
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record);

CREATE OR REPLACE VIEW execution_list_sources AS
SELECT m.address AS record, m.execution_id, m.caller, true AS on_chain, a.creator, m.agent,
       listed_status(shown_status(m.status, e.state)) AS status,
       shown_cost(m.status, m.amount, e.state, d.compensation) AS cost, m.initiated_at,
       shown_end(m.status, m.initiated_at, m.finished_at, e.finished_at) AS completed_at,
       execution_stage(m.status, e.state, e.opened_at) AS stage
FROM mirror_executions m
LEFT JOIN executions e ON e.record = m.address
LEFT JOIN mirror_disputes d ON d.execution = m.address
LEFT JOIN mirror_agents a ON a.address = m.agent
UNION ALL
SELECT record, execution_id, caller, false, NULL, agent, listed_status(status), cost, initiated_at, completed_at, stage
FROM shown_executions_off_chain
UNION ALL
SELECT d.execution, '00000000-0000-0000-0000-000000000000', '', false, NULL, '', -1::smallint, 0, 'epoch'::timestamptz,
       NULL, 0::smallint
FROM mirror_disputes d
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = d.execution)
  AND NOT EXISTS (SELECT FROM executions e WHERE e.record = d.execution);

-- The functions of `0009_execution_list.sql`, which keep the stage as well.
CREATE OR REPLACE FUNCTION refresh_execution_list(p_records text[], p_on_chain boolean, p_vanished boolean) RETURNS void
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
               s.status, s.cost, s.initiated_at, s.completed_at, s.stage,
               CASE WHEN s.on_chain THEN COALESCE(s.creator, CASE WHEN l.agent = s.agent THEN l.creator END) END AS creator
        FROM (SELECT * FROM execution_list_sources WHERE record = ANY (p_records) AND (on_chain OR NOT p_on_chain)) AS s
        JOIN execution_list l ON l.record = s.record),
    changed AS (
        UPDATE execution_list l SET
            execution_id = s.execution_id, caller = s.caller, on_chain = s.on_chain, creator = s.creator, agent = s.agent,
            status = s.status, cost = s.cost, initiated_at = s.initiated_at, completed_at = s.completed_at,
            stage = s.stage
        FROM shown s
        WHERE l.ctid = s.place
          AND (l.execution_id, l.caller, l.on_chain, l.creator, l.agent, l.status, l.cost, l.initiated_at, l.completed_at,
               l.stage)
              IS DISTINCT FROM
              (s.execution_id, s.caller, s.on_chain, s.creator, s.agent, s.status, s.cost, s.initiated_at, s.completed_at,
               s.stage)
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
CREATE OR REPLACE FUNCTION list_inserted_execution() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_status smallint := listed_status(shown_status(NULL, NEW.state));
BEGIN
    INSERT INTO execution_list (record, execution_id, caller, on_chain, agent, status, cost, initiated_at, completed_at,
                                stage)
    VALUES (NEW.record, NEW.execution_id, NEW.caller, false, NEW.agent, v_status,
            shown_cost(NULL, COALESCE(NEW.charged_amount, NEW.amount), NEW.state, NULL), NEW.created_at, NEW.finished_at,
            execution_stage(NULL, NEW.state, NEW.opened_at))
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
    v_stage := execution_stage(v_record, NEW.state, NEW.opened_at);
    IF (v_status, v_cost, v_end, v_stage) IS DISTINCT FROM (v_row.status, v_row.cost, v_row.completed_at, v_row.stage) THEN
        UPDATE execution_list SET status = v_status, cost = v_cost, completed_at = v_end, stage = v_stage
        WHERE record = NEW.record;
    END IF;
    IF v_status <> v_row.status THEN
        INSERT INTO execution_changes (caller, creator, agent, day, was, status)
        VALUES (v_row.caller, v_row.creator, v_row.agent, utc_day(v_row.initiated_at), v_row.status, v_status);
    END IF;
    RETURN NULL;
END
$$;
-- As before, and for an opening that is not dispatched at once.
DROP TRIGGER followed ON executions;
CREATE TRIGGER followed AFTER UPDATE ON executions FOR EACH ROW
    WHEN (OLD.state IN ('reserved', 'opening', 'pending') <> NEW.state IN ('reserved', 'opening', 'pending')
          OR OLD.finished_at IS DISTINCT FROM NEW.finished_at OR (OLD.opened_at IS NULL) <> (NEW.opened_at IS NULL)
          OR NEW.amount <> OLD.amount OR NEW.charged_amount <> NEW.amount)
    EXECUTE FUNCTION follow_execution();

UPDATE execution_list l SET stage = s.stage
FROM execution_list_sources s WHERE s.record = l.record AND s.stage <> 0;

-- What the caller hears, and the creator of a payment. Whoever changes a stage holds the lock of the row.
CREATE FUNCTION log_execution() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_row    execution_list := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    v_was    smallint := 0;
    v_now    smallint := 0;
    v_types  text[];
    v_back   boolean;
    v_amount bigint;
    v_earned bigint;
    v_hash   bytea;
    v_reason smallint;
    v_code   text;
    v_slot   bigint;
BEGIN
    IF NOT is_logged() THEN
        RETURN NULL;
    END IF;
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
    SELECT COALESCE(m.amount, e.charged_amount, e.amount), COALESCE(m.creator_amount, e.charged_creator_amount),
           COALESCE(m.result_hash, e.result_hash), COALESCE(m.failure_reason, e.failure_reason), e.error_code,
           GREATEST(m.slot, (SELECT max(t.slot) FROM execution_transactions t WHERE t.record = v_row.record))
    INTO v_amount, v_earned, v_hash, v_reason, v_code, v_slot
    FROM (VALUES (v_row.record)) AS r (record)
    LEFT JOIN executions e USING (record) LEFT JOIN mirror_executions m ON m.address = r.record;
    INSERT INTO event_queue (wallet, type, correction, slot, agent, execution_id, data)
    SELECT CASE WHEN t.type = 'payout' THEN v_row.creator ELSE v_row.caller END, t.type, v_back, v_slot, v_row.agent,
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
                   WHEN t.type <> 'payout' THEN v_amount WHEN v_now = 3 THEN COALESCE(v_earned, 0) ELSE 0 END,
               'result_hash', CASE WHEN v_now = 3 AND t.type <> 'execution.opened' THEN 'sha256:' || encode(v_hash, 'hex') END,
               'failure_reason', CASE WHEN v_now = 5 AND t.type <> 'execution.opened' THEN v_reason END,
               'error_code', CASE WHEN v_now IN (4, 5) AND t.type <> 'execution.opened' THEN v_code END))
    FROM unnest(v_types) WITH ORDINALITY AS t (type, place) ORDER BY t.place;
    RETURN NULL;
END
$$;
-- Not the row of an earlier use of an address: it was logged as what it was.
CREATE TRIGGER log_inserted AFTER INSERT ON execution_list FOR EACH ROW
    WHEN (NEW.stage > 0 AND strpos(NEW.record, '@') = 0) EXECUTE FUNCTION log_execution();
CREATE TRIGGER log_updated AFTER UPDATE ON execution_list FOR EACH ROW
    WHEN (OLD.stage <> NEW.stage OR OLD.initiated_at < NEW.initiated_at AND NEW.stage > 0)
    EXECUTE FUNCTION log_execution();
CREATE TRIGGER log_deleted AFTER DELETE ON execution_list FOR EACH ROW
    WHEN (OLD.stage > 0 AND strpos(OLD.record, '@') = 0) EXECUTE FUNCTION log_execution();

-- Rows of the mirror. `correct` gives a row the revision -1 before it writes what holds now: so a change of such a row takes
-- something back.

-- The program's `DisputeOutcome`, as in `0001_program_numbers.sql`.
CREATE FUNCTION dispute_outcome(name text) RETURNS smallint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE name
        WHEN 'open' THEN RETURN 1;
        WHEN 'upheld' THEN RETURN 2;
        WHEN 'rejected' THEN RETURN 3;
        WHEN 'expired' THEN RETURN 4;
        WHEN 'cancelled' THEN RETURN 5;
        WHEN 'abusive' THEN RETURN 6;
    END CASE;
END
$$;

-- Both parties hear of a dispute.
CREATE FUNCTION log_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
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
    CROSS JOIN (SELECT v_row.raised_by AS wallet
                UNION ALL SELECT v_row.creator WHERE v_row.creator IS DISTINCT FROM v_row.raised_by) AS w
    ORDER BY t.place;
    RETURN NULL;
END
$$;
CREATE TRIGGER log_inserted AFTER INSERT ON mirror_disputes FOR EACH ROW
    WHEN (strpos(NEW.address, '@') = 0) EXECUTE FUNCTION log_dispute();
CREATE TRIGGER log_updated AFTER UPDATE ON mirror_disputes FOR EACH ROW EXECUTE FUNCTION log_dispute();
CREATE TRIGGER log_deleted AFTER DELETE ON mirror_disputes FOR EACH ROW
    WHEN (strpos(OLD.address, '@') = 0) EXECUTE FUNCTION log_dispute();

-- The creator hears of its listings.
CREATE FUNCTION log_agent() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_row   mirror_agents := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    v_types text[] := '{}';
    v_back  boolean := TG_OP = 'DELETE';
BEGIN
    IF NOT is_logged() THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        v_back := OLD.revision < 0;
        IF (NEW.status = agent_status('delisted') OR NEW.closed_at_slot IS NOT NULL)
           AND OLD.status <> agent_status('delisted') AND OLD.closed_at_slot IS NULL THEN
            v_types := v_types || 'agent.delisted'::text;
        ELSIF NEW.closed_at_slot IS NULL AND NEW.status <> agent_status('delisted') THEN
            IF OLD.closed_at_slot IS NOT NULL OR OLD.status = agent_status('delisted') THEN
                v_types := v_types || 'agent.listed'::text;
            ELSIF (OLD.status = agent_status('paused') OR OLD.suspended)
                  <> (NEW.status = agent_status('paused') OR NEW.suspended) THEN
                v_types := v_types || CASE WHEN NEW.status = agent_status('paused') OR NEW.suspended
                                           THEN 'agent.paused' ELSE 'agent.resumed' END;
            END IF;
        END IF;
        IF (OLD.price, OLD.result_key, OLD.metadata_hash, OLD.timeout_seconds, OLD.binding, OLD.min_cover)
           IS DISTINCT FROM
           (NEW.price, NEW.result_key, NEW.metadata_hash, NEW.timeout_seconds, NEW.binding, NEW.min_cover) THEN
            v_types := v_types || 'agent.updated'::text;
        END IF;
        IF OLD.slashed_total <> NEW.slashed_total THEN
            v_types := v_types || 'agent.slashed'::text;
        END IF;
        IF (OLD.name IS NULL) <> (NEW.name IS NULL) THEN
            v_types := v_types || CASE WHEN NEW.name IS NULL THEN 'agent.hidden' ELSE 'agent.shown' END;
        END IF;
    ELSE
        v_types := v_types || 'agent.listed'::text
            || CASE WHEN v_row.name IS NOT NULL AND TG_OP <> 'DELETE' THEN ARRAY['agent.shown'] ELSE '{}' END;
    END IF;
    INSERT INTO event_queue (wallet, type, correction, slot, agent, data)
    SELECT v_row.creator, t.type, v_back, GREATEST(v_row.slot, v_row.closed_at_slot), v_row.address,
           jsonb_strip_nulls(jsonb_build_object(
               'status', CASE
                   WHEN TG_OP = 'DELETE' THEN NULL
                   WHEN v_row.closed_at_slot IS NOT NULL OR v_row.status = agent_status('delisted') THEN 'delisted'
                   WHEN v_row.status = agent_status('paused') OR v_row.suspended THEN 'paused'
                   ELSE 'active' END,
               'price_usdc', v_row.price, 'collateral_usdc', v_row.collateral,
               'slashed_total_usdc', CASE WHEN t.type = 'agent.slashed' THEN v_row.slashed_total END))
    FROM unnest(v_types) WITH ORDINALITY AS t (type, place) ORDER BY t.place;
    RETURN NULL;
END
$$;
CREATE TRIGGER log_inserted_or_deleted AFTER INSERT OR DELETE ON mirror_agents FOR EACH ROW EXECUTE FUNCTION log_agent();
-- Each call changes other columns.
CREATE TRIGGER log_updated AFTER UPDATE ON mirror_agents FOR EACH ROW
    WHEN ((OLD.status, OLD.suspended, OLD.closed_at_slot, OLD.price, OLD.result_key, OLD.metadata_hash,
           OLD.timeout_seconds, OLD.binding, OLD.min_cover, OLD.slashed_total, OLD.name IS NULL)
          IS DISTINCT FROM
          (NEW.status, NEW.suspended, NEW.closed_at_slot, NEW.price, NEW.result_key, NEW.metadata_hash,
           NEW.timeout_seconds, NEW.binding, NEW.min_cover, NEW.slashed_total, NEW.name IS NULL))
    EXECUTE FUNCTION log_agent();

-- API keys: created when it acts for the wallet, revoked here or on chain, exhausted when it cannot pay for the cheapest
-- call any more.
CREATE FUNCTION log_key(p_wallet text, p_session_key text, p_type text, p_slot bigint, p_back boolean) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO event_queue (wallet, type, correction, slot, data)
    SELECT wallet, p_type, p_back, p_slot,
           jsonb_strip_nulls(jsonb_build_object('session_public_key', session_public_key, 'last_four', last_four))
    FROM api_keys WHERE session_public_key = p_session_key AND wallet = p_wallet AND registered_at IS NOT NULL
$$;
CREATE FUNCTION log_api_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.registered_at IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.registered_at IS NULL) THEN
        PERFORM log_key(NEW.wallet, NEW.session_public_key, 'key.created', NULL, false);
    END IF;
    IF NEW.revoked_at IS NOT NULL AND (TG_OP = 'INSERT' OR OLD.revoked_at IS NULL)
       AND NOT EXISTS (SELECT FROM mirror_grants g WHERE g.address = NEW.grant_address AND g.revoked) THEN
        PERFORM log_key(NEW.wallet, NEW.session_public_key, 'key.revoked', NULL, false);
    END IF;
    RETURN NULL;
END
$$;
-- Each call changes other columns.
CREATE TRIGGER log_changed AFTER INSERT OR UPDATE OF registered_at, revoked_at ON api_keys
    FOR EACH ROW EXECUTE FUNCTION log_api_key();

CREATE FUNCTION log_grant() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_least bigint;
BEGIN
    IF NOT is_logged() THEN
        RETURN NULL;
    END IF;
    IF OLD.revoked <> NEW.revoked
       AND NOT EXISTS (SELECT FROM api_keys k
                       WHERE k.session_public_key = NEW.session_key AND k.wallet = NEW.wallet AND k.revoked_at IS NOT NULL)
    THEN
        PERFORM log_key(NEW.wallet, NEW.session_key, CASE WHEN NEW.revoked THEN 'key.revoked' ELSE 'key.created' END,
                        NEW.slot, OLD.revision < 0);
    END IF;
    v_least := COALESCE((SELECT min_price FROM mirror_config ORDER BY address LIMIT 1), 0);
    IF NEW.total_cap - NEW.spent < v_least AND OLD.total_cap - OLD.spent >= v_least THEN
        PERFORM log_key(NEW.wallet, NEW.session_key, 'key.exhausted', NEW.slot, false);
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER log_updated AFTER UPDATE ON mirror_grants FOR EACH ROW
    WHEN (OLD.revoked <> NEW.revoked OR OLD.spent <> NEW.spent) EXECUTE FUNCTION log_grant();
