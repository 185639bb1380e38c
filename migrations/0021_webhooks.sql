-- Webhooks: where a wallet wants its events, and what became of each delivery.
--
-- Deliveries are made from the log, under the lease of their webhook. So the transaction that changes a state knows nothing of
-- webhooks, and two workers never send to one webhook at the same time.

CREATE TABLE webhooks (
    webhook_id      uuid PRIMARY KEY,
    wallet          text NOT NULL,
    url             text NOT NULL,
    -- Empty: all.
    types           text[] NOT NULL,
    agents          text[] NOT NULL,
    -- Encrypted with a key that is derived from the gateway's key pair of this address.
    secret          bytea NOT NULL,
    -- Signs as well until then.
    old_secret      bytea,
    old_secret_until timestamptz,
    sealed_by       text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    disabled_at     timestamptz,
    disabled_reason text,
    -- Attempts that failed since the last success, and when the first of them did.
    failures        integer NOT NULL DEFAULT 0,
    failing_since   timestamptz,
    -- The last answer was a failure, or came late: it is worked on apart from the others.
    troubled        boolean NOT NULL DEFAULT false,
    -- Deliveries were made of the wallet's events up to this one.
    taken           bigint NOT NULL,
    -- When there is something to do, apart from new events.
    due_at          timestamptz NOT NULL DEFAULT 'infinity',
    -- Nothing is sent before: the target fails, or asked for the pause.
    paused_until    timestamptz NOT NULL DEFAULT '-infinity',
    lease_owner     uuid,
    lease_until     timestamptz NOT NULL DEFAULT '-infinity',
    -- The last replay. It has come to `replay_next`; over once that is beyond `replay_through`.
    replay_from     bigint,
    replay_through  bigint,
    replay_next     bigint,
    replay_types    text[],
    replay_events   bigint
) WITH (fillfactor = 60);
CREATE INDEX webhooks_of_wallet ON webhooks (wallet);
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE disabled_at IS NULL;

CREATE TABLE webhook_deliveries (
    webhook_id      uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    -- Of the wallet's log.
    sequence        bigint NOT NULL,
    event_id        uuid NOT NULL,
    type            text NOT NULL,
    execution_id    uuid,
    replayed        boolean NOT NULL DEFAULT false,
    attempts        integer NOT NULL DEFAULT 0,
    -- Null: nothing is to be done. It was acknowledged, given up, or its replay was cancelled.
    next_at         timestamptz DEFAULT now(),
    acknowledged_at timestamptz,
    -- The last attempt.
    last_at         timestamptz,
    last_status     integer,
    last_ms         integer,
    last_answer     text,
    PRIMARY KEY (webhook_id, sequence)
);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, sequence) WHERE next_at IS NOT NULL;

-- Makes deliveries of new events and of those that are replayed, and renews the lease. At most 1000 deliveries wait: the
-- other events wait in the log. False: the lease is lost, or the webhook is disabled.
CREATE FUNCTION take_events(p_webhook uuid, p_owner uuid, p_lease_s float8) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    w        webhooks;
    v_room   bigint;
    v_taken  bigint;
    v_next   bigint;
    v_oldest bigint;
BEGIN
    SELECT * INTO w FROM webhooks
    WHERE webhook_id = p_webhook AND lease_owner = p_owner AND disabled_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT oldest INTO v_oldest FROM event_heads WHERE wallet = w.wallet;
    UPDATE webhook_deliveries SET next_at = NULL, last_answer = 'the event is no longer in the log'
    WHERE webhook_id = p_webhook AND next_at IS NOT NULL AND sequence < v_oldest;
    SELECT 1000 - count(*) INTO v_room FROM webhook_deliveries WHERE webhook_id = p_webhook AND next_at IS NOT NULL;
    IF v_room > 0 THEN
        WITH read AS (
            SELECT * FROM events WHERE wallet = w.wallet AND sequence > w.taken ORDER BY sequence LIMIT v_room),
        made AS (
            INSERT INTO webhook_deliveries (webhook_id, sequence, event_id, type, execution_id)
            SELECT p_webhook, sequence, event_id, type, execution_id FROM read
            WHERE (w.types = '{}' OR type = ANY (w.types)) AND (w.agents = '{}' OR agent = ANY (w.agents))
            ON CONFLICT DO NOTHING
            RETURNING 1)
        SELECT max(sequence), v_room - (SELECT count(*) FROM made) INTO v_taken, v_room FROM read;
    END IF;
    IF v_room > 0 AND w.replay_next <= w.replay_through THEN
        WITH read AS (
            SELECT * FROM events WHERE wallet = w.wallet AND sequence BETWEEN w.replay_next AND w.replay_through
            ORDER BY sequence LIMIT v_room),
        made AS (
            INSERT INTO webhook_deliveries AS d (webhook_id, sequence, event_id, type, execution_id, replayed)
            SELECT p_webhook, sequence, event_id, type, execution_id, true FROM read
            WHERE (w.types = '{}' OR type = ANY (w.types)) AND (w.agents = '{}' OR agent = ANY (w.agents))
              AND (w.replay_types = '{}' OR type = ANY (w.replay_types))
            ON CONFLICT (webhook_id, sequence) DO UPDATE SET next_at = now(), attempts = 0, replayed = true
            WHERE d.next_at IS NULL)
        SELECT COALESCE(max(sequence), w.replay_through) + 1 INTO v_next FROM read;
    END IF;
    UPDATE webhooks SET lease_until = now() + make_interval(secs => p_lease_s), taken = COALESCE(v_taken, taken),
        replay_next = COALESCE(v_next, replay_next)
    WHERE webhook_id = p_webhook;
    -- The log of deliveries keeps what was acknowledged of the last 10 000 events, and what was not as long as the event.
    IF v_taken / 1000 > w.taken / 1000 THEN
        DELETE FROM webhook_deliveries WHERE webhook_id = p_webhook AND next_at IS NULL
            AND (sequence < v_oldest OR acknowledged_at IS NOT NULL AND sequence <= v_taken - 10000);
    END IF;
    RETURN true;
END
$$;

-- The target acknowledged a delivery. If it had failed three times in a row, what waits for a retry is due at once; five
-- minutes after its last attempt at the earliest, so that a target that fails now and then does not use the attempts up.
CREATE FUNCTION acknowledge_delivery(p_webhook uuid, p_sequence bigint, p_status integer, p_ms integer, p_answer text,
                                     p_troubled boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_failures integer;
BEGIN
    SELECT failures INTO v_failures FROM webhooks
    WHERE webhook_id = p_webhook AND (failures > 0 OR troubled <> p_troubled) FOR UPDATE;
    IF FOUND THEN
        UPDATE webhooks SET failures = 0, failing_since = NULL, paused_until = '-infinity', troubled = p_troubled
        WHERE webhook_id = p_webhook;
    END IF;
    UPDATE webhook_deliveries SET next_at = NULL, acknowledged_at = now(), attempts = attempts + 1, last_at = now(),
        last_status = p_status, last_ms = p_ms, last_answer = p_answer
    WHERE webhook_id = p_webhook AND sequence = p_sequence;
    IF v_failures >= 3 THEN
        UPDATE webhook_deliveries SET next_at = LEAST(next_at, GREATEST(now(), last_at + interval '5 minutes'))
        WHERE webhook_id = p_webhook AND next_at > now();
    END IF;
END
$$;

-- Nothing is sent from now on, and an event tells the wallet.
CREATE FUNCTION disable_webhook(p_webhook uuid, p_reason text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    WITH disabled AS (
        UPDATE webhooks SET disabled_at = now(), disabled_reason = p_reason, lease_owner = NULL
        WHERE webhook_id = p_webhook AND disabled_at IS NULL
        RETURNING wallet)
    INSERT INTO event_queue (wallet, type, data)
    SELECT wallet, 'webhook.disabled', jsonb_build_object('webhook_id', p_webhook, 'reason', p_reason) FROM disabled;
END;

-- An attempt failed. `p_next_s`: until the next one of this delivery; null gives it up. After three failures in a row the whole
-- webhook pauses, 5 s first and 300 s at most, and for `p_pause_s` if the target asked for that. A webhook is disabled if its
-- target is gone, or after five days without a success; then not before the third attempt of a delivery, because after a long
-- time without events the first attempt says little.
CREATE FUNCTION fail_delivery(p_webhook uuid, p_owner uuid, p_sequence bigint, p_status integer, p_ms integer, p_answer text,
                              p_next_s float8, p_pause_s float8)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_attempts integer;
    v_since    timestamptz;
BEGIN
    UPDATE webhooks SET failures = failures + 1, failing_since = COALESCE(failing_since, now()), troubled = true,
        paused_until = now() + make_interval(secs => GREATEST(p_pause_s,
            CASE WHEN failures < 2 THEN 0 ELSE LEAST(300, 5 * 2 ^ LEAST(failures - 2, 10)) END))
    WHERE webhook_id = p_webhook AND lease_owner = p_owner
    RETURNING failing_since INTO v_since;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE webhook_deliveries SET attempts = attempts + 1, next_at = now() + make_interval(secs => p_next_s),
        last_at = now(), last_status = p_status, last_ms = p_ms, last_answer = p_answer
    WHERE webhook_id = p_webhook AND sequence = p_sequence AND next_at IS NOT NULL
    RETURNING attempts INTO v_attempts;
    IF p_status = 410 THEN
        PERFORM disable_webhook(p_webhook, 'gone');
    ELSIF v_since < now() - interval '5 days' AND v_attempts >= 3 THEN
        PERFORM disable_webhook(p_webhook, 'failing');
    END IF;
END
$$;

-- Everything that the target has not acknowledged is due again.
CREATE FUNCTION enable_webhook(p_webhook uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE webhooks SET disabled_at = NULL, disabled_reason = NULL, failures = 0, failing_since = NULL, troubled = false,
        due_at = now(), paused_until = '-infinity', lease_owner = NULL, lease_until = now()
    WHERE webhook_id = p_webhook;
    UPDATE webhook_deliveries SET next_at = now(), attempts = 0, replayed = false
    WHERE webhook_id = p_webhook AND acknowledged_at IS NULL;
END
$$;
