-- PostgreSQL plans the body of a function in SQL again for each statement that calls it, which costs more than reading the two
-- rows. A connection plans a function in PL/pgSQL once.
CREATE OR REPLACE FUNCTION agent_trust(p_agent text) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    RETURN (
        SELECT LEAST(t.trust - COALESCE((
                   SELECT sum(trusted_fees(c.fees)) FROM mirror_agent_callers c
                   WHERE c.agent = p_agent AND c.caller IN (
                       SELECT unnest(ARRAY[g.admin, g.treasury_owner, g.insurance_owner]) FROM mirror_config g
                       WHERE g.closed_at_slot IS NULL)), 0), 9223372036854775807)::bigint
        FROM mirror_agent_totals t WHERE t.agent = p_agent);
END
$$;
