-- The limits of a new call: the money that other calls of the wallet have reserved, the calls under way, and the
-- calls that failed within the last hour.

-- Calls that cost the gateway a transaction and had no result: refunds that the creator's service caused, and
-- openings that the chain rejected. A row is kept for as long as a limit counts it. A trigger writes the refunds
-- (`follow_execution`), whether engine, sweep or an operator makes them.
CREATE TABLE call_failures (
    caller      text        NOT NULL,
    -- Null: the wallet opened the execution itself.
    session_key text,
    agent       text        NOT NULL,
    at          timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX call_failures_by_key ON call_failures (session_key, at);
CREATE INDEX call_failures_by_caller ON call_failures (caller, at);
CREATE INDEX call_failures_by_agent ON call_failures (agent, at);
CREATE INDEX call_failures_by_time ON call_failures (at);

-- Whether a call may be accepted. The statement that accepts it calls this function (`crtx_store::admission`).
--
-- The locks are held until that statement has committed, so calls of one wallet, or for one agent, are counted one
-- after another in all processes. The wallet's lock is always taken first, so no two calls wait for each other. Each
-- query below sees everything that was committed before it, and so the call that held the lock before.
CREATE FUNCTION admit_call(
    p_record text,
    p_caller text,
    p_session_key text,
    p_agent text,
    p_amount bigint,
    -- What wallet and key may spend, as read from the chain.
    p_wallet_funds bigint,
    p_key_funds bigint,
    -- When the chain was read: by this server's clock, or as an age.
    p_read_at timestamptz,
    p_read_age_s double precision,
    -- Most calls under way, and most failures within an hour.
    p_key_calls bigint,
    p_wallet_calls bigint,
    p_agent_calls bigint,
    p_key_failures bigint,
    p_wallet_failures bigint,
    p_agent_failures bigint,
    OUT refusal text,
    -- What other calls take from the same money.
    OUT reserved bigint,
    -- When the oldest of the counted failures no longer counts.
    OUT retry_after_s double precision,
    OUT as_of timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
    v_read_at      timestamptz := coalesce(p_read_at, statement_timestamp() - make_interval(secs => p_read_age_s));
    v_hour_ago     timestamptz;
    v_wallet_sum   numeric;
    v_key_sum      numeric;
    v_wallet_calls bigint;
    v_key_calls    bigint;
    v_agent_calls  bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1668445304, hashtext(p_caller));
    PERFORM pg_advisory_xact_lock(1668445305, hashtext(p_agent));
    as_of := clock_timestamp();
    v_hour_ago := as_of - interval '1 hour';

    -- `takes`: the money is still in the wallet, or left it after the chain was read. A call that is under way and
    -- was opened just before the read can count twice, here and on the chain. A refused call reads the chain again.
    SELECT coalesce(sum(amount) FILTER (WHERE takes), 0),
           coalesce(sum(amount) FILTER (WHERE takes AND session_key = p_session_key), 0),
           count(*) FILTER (WHERE under_way),
           count(*) FILTER (WHERE under_way AND session_key = p_session_key)
    INTO v_wallet_sum, v_key_sum, v_wallet_calls, v_key_calls
    FROM (
        SELECT amount, session_key, true AS under_way,
               state IN ('reserved', 'opening') OR opened_at >= v_read_at AS takes
        FROM executions
        WHERE caller = p_caller AND finished_at IS NULL AND record <> p_record
        UNION ALL
        SELECT amount, session_key, false, true
        FROM executions
        WHERE caller = p_caller AND finished_at >= v_read_at AND opened_at >= v_read_at AND record <> p_record
    ) AS calls;

    IF v_key_calls >= p_key_calls THEN
        refusal := 'key_calls';
        RETURN;
    ELSIF v_wallet_calls >= p_wallet_calls THEN
        refusal := 'wallet_calls';
        RETURN;
    END IF;
    SELECT count(*) INTO v_agent_calls FROM (
        SELECT FROM executions
        WHERE agent = p_agent AND finished_at IS NULL AND record <> p_record
        LIMIT p_agent_calls) AS calls;
    IF v_agent_calls >= p_agent_calls THEN
        refusal := 'agent_calls';
        RETURN;
    END IF;

    -- The oldest failure that has to be more than an hour old before one more call fits.
    SELECT f.name, extract(epoch FROM f.at - v_hour_ago) INTO refusal, retry_after_s FROM (
        (SELECT 1 AS place, 'key_failures' AS name, at FROM call_failures WHERE session_key = p_session_key AND at > v_hour_ago
         ORDER BY at DESC OFFSET greatest(p_key_failures - 1, 0) LIMIT 1)
        UNION ALL
        (SELECT 2, 'wallet_failures', at FROM call_failures WHERE caller = p_caller AND at > v_hour_ago
         ORDER BY at DESC OFFSET greatest(p_wallet_failures - 1, 0) LIMIT 1)
        UNION ALL
        (SELECT 3, 'agent_failures', at FROM call_failures WHERE agent = p_agent AND at > v_hour_ago
         ORDER BY at DESC OFFSET greatest(p_agent_failures - 1, 0) LIMIT 1)) AS f
    ORDER BY f.place LIMIT 1;
    IF refusal IS NOT NULL THEN
        RETURN;
    END IF;

    IF v_wallet_sum + p_amount > p_wallet_funds THEN
        refusal := 'wallet_funds';
        reserved := least(v_wallet_sum, 9223372036854775807);
    ELSIF v_key_sum + p_amount > p_key_funds THEN
        refusal := 'key_funds';
        reserved := least(v_key_sum, 9223372036854775807);
    END IF;
END
$$;
