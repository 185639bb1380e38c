-- Cheap steps. An execution changes its state five times. While any index names `state`, each change writes an entry
-- into every index of the table, and leaves a dead one behind. An execution is under way exactly as long as
-- `finished_at` is null (a check of the table says so), and that changes once. Now the steps between change no index
-- at all, as long as the row's page has room for its next version.
DROP INDEX executions_unfinished, executions_by_lease_process, executions_under_way_by_caller,
    executions_under_way_by_agent;
ALTER TABLE executions SET (fillfactor = 60);

-- What a worker looks for: unfinished rows, oldest lease first. Few enough to look through for those of a dead process.
CREATE INDEX executions_unfinished ON executions (lease_until NULLS FIRST) WHERE finished_at IS NULL;
CREATE INDEX executions_under_way_by_caller ON executions (caller) WHERE finished_at IS NULL;
CREATE INDEX executions_under_way_by_agent ON executions (agent) WHERE finished_at IS NULL;

-- What every row has to be. One check that calls a function instead of nineteen checks: PostgreSQL reads each check's
-- expression anew for every statement, which took a third of the time of all steps of a call. A function is read once
-- per connection. Null means that a check does not apply, as it does in a check itself.
DO $$
DECLARE
    v_check text;
BEGIN
    FOR v_check IN SELECT conname FROM pg_constraint WHERE conrelid = 'executions'::regclass AND contype = 'c' LOOP
        EXECUTE format('ALTER TABLE executions DROP CONSTRAINT %I', v_check);
    END LOOP;
END
$$;
CREATE FUNCTION execution_is_sound(e executions) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN e.state IN ('reserved', 'opening', 'pending', 'running', 'result_stored', 'settling', 'completed',
                       'refunding', 'failed')
        AND octet_length(e.body_hash) = 32
        AND octet_length(e.request_hash) = 32
        AND octet_length(e.result_hash) = 32
        AND octet_length(e.result_signature) = 64
        AND e.amount >= 0
        AND e.timeout_seconds > 0
        AND e.tokens_used >= 0
        AND e.execution_time_ms >= 0
        -- The record's amounts are known together or not at all.
        AND e.charged_amount >= 0
        AND e.charged_creator_amount >= 0
        AND e.charged_platform_amount >= 0
        AND (e.charged_amount IS NULL) = (e.charged_creator_amount IS NULL)
        AND (e.charged_amount IS NULL) = (e.charged_platform_amount IS NULL)
        AND e.failure_reason BETWEEN 1 AND 4
        AND e.error_status BETWEEN 400 AND 599
        AND (e.lease_owner IS NULL) = (e.lease_until IS NULL)
        AND (e.state IN ('completed', 'failed')) = (e.finished_at IS NOT NULL)
        -- A result is whole, unless somebody else settled with another one.
        AND (e.state NOT IN ('result_stored', 'settling', 'completed')
             OR (e.state = 'completed' AND e.settled_elsewhere)
             OR (e.result IS NOT NULL AND e.result_hash IS NOT NULL AND e.result_signature IS NOT NULL
                 AND e.execution_time_ms IS NOT NULL))
        AND (e.state NOT IN ('refunding', 'failed')
             OR (e.error_status IS NOT NULL AND e.error_code IS NOT NULL AND e.error_message IS NOT NULL));
END
$$;

-- Results that the content store does not have yet: a table of their own, because an index on the result's hash would
-- make every stored result change all indexes, too.
CREATE TABLE missing_content (
    record text  PRIMARY KEY REFERENCES executions (record) ON DELETE CASCADE,
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32)
);
CREATE INDEX missing_content_by_hash ON missing_content (sha256);
INSERT INTO missing_content (record, sha256)
SELECT record, result_hash FROM executions WHERE content_missing AND result IS NOT NULL;
ALTER TABLE executions DROP COLUMN content_missing;

ALTER TABLE executions ADD CONSTRAINT executions_are_sound CHECK (execution_is_sound(executions));

-- The same function as before, in the words of these indexes.
CREATE OR REPLACE FUNCTION admit_call(
    p_record text,
    p_caller text,
    p_session_key text,
    p_agent text,
    p_amount bigint,
    -- What the chain lets the wallet, and this key of it, spend.
    p_wallet_funds bigint,
    p_key_funds bigint,
    -- When the chain was read, by this server's clock, or how long ago.
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
    -- What calls under way take from the same money.
    OUT reserved bigint,
    -- When the oldest of the failures counted no longer counts.
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
    v_failure      timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(1668445304, hashtext(p_caller));
    PERFORM pg_advisory_xact_lock(1668445305, hashtext(p_agent));
    as_of := clock_timestamp();
    v_hour_ago := as_of - interval '1 hour';

    -- Not taken from the wallet yet, or taken after the chain was read. What is both under way and taken already is
    -- counted twice: once here, once in what the chain holds. Whoever is refused reads the chain again.
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

    -- The oldest failure that has to leave the hour before one more call fits.
    SELECT at INTO v_failure FROM call_failures
    WHERE session_key = p_session_key AND at > v_hour_ago ORDER BY at DESC OFFSET greatest(p_key_failures - 1, 0) LIMIT 1;
    IF FOUND THEN
        refusal := 'key_failures';
    ELSE
        SELECT at INTO v_failure FROM call_failures
        WHERE caller = p_caller AND at > v_hour_ago ORDER BY at DESC OFFSET greatest(p_wallet_failures - 1, 0) LIMIT 1;
        IF FOUND THEN
            refusal := 'wallet_failures';
        ELSE
            SELECT at INTO v_failure FROM call_failures
            WHERE agent = p_agent AND at > v_hour_ago ORDER BY at DESC OFFSET greatest(p_agent_failures - 1, 0) LIMIT 1;
            IF FOUND THEN
                refusal := 'agent_failures';
            END IF;
        END IF;
    END IF;
    IF refusal IS NOT NULL THEN
        retry_after_s := extract(epoch FROM v_failure - v_hour_ago);
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
