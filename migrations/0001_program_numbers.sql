-- The numbers that the program stores for its enums, by name. No other SQL states such a number. A test compares
-- these functions with the enums of `programs/agent-marketplace/src/state/`.
--
-- PostgreSQL replaces each call by its number when it plans a statement. The functions are in PL/pgSQL because that
-- compiles them once per connection. An unknown name is an error (CASE without ELSE).

CREATE FUNCTION agent_status(name text) RETURNS smallint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE name
        WHEN 'active' THEN RETURN 1;
        WHEN 'paused' THEN RETURN 2;
        WHEN 'delisted' THEN RETURN 3;
    END CASE;
END
$$;

CREATE FUNCTION record_status(name text) RETURNS smallint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE name
        WHEN 'open' THEN RETURN 1;
        WHEN 'completed' THEN RETURN 2;
        WHEN 'failed' THEN RETURN 3;
        WHEN 'expired' THEN RETURN 4;
        WHEN 'disputed' THEN RETURN 5;
        WHEN 'overturned' THEN RETURN 6;
    END CASE;
END
$$;

CREATE FUNCTION failure_reason(name text) RETURNS smallint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE name
        WHEN 'creator_failed' THEN RETURN 1;
        WHEN 'timeout' THEN RETURN 2;
        WHEN 'invalid_response' THEN RETURN 3;
        WHEN 'expired' THEN RETURN 4;
        WHEN 'interrupted' THEN RETURN 5;
    END CASE;
END
$$;

CREATE FUNCTION settler(name text) RETURNS smallint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    CASE name
        WHEN 'caller' THEN RETURN 1;
        WHEN 'creator' THEN RETURN 2;
        WHEN 'gateway' THEN RETURN 3;
    END CASE;
END
$$;

-- Completed, with or without a dispute, whatever became of the dispute.
CREATE FUNCTION is_settled(status smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status IN (record_status('completed'), record_status('disputed'), record_status('overturned'));

CREATE FUNCTION is_refunded(status smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status IN (record_status('failed'), record_status('expired'));
