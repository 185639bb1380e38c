-- Who paid which agent, what each wallet paid and what each agent received, from the rows of `mirror_executions`.
--
-- A trigger (`0013_record_triggers.sql`) notes what each statement changed. The transaction adds the notes to the totals
-- when it has all its locks on executions, in the order of the keys: so no two transactions wait for each other.

-- Executions that came (below 0: went), what the settled ones cost, and what the creator received.
CREATE TABLE mirror_total_notes (
    agent     text NOT NULL,
    caller    text NOT NULL,
    completed bigint NOT NULL,
    failed    bigint NOT NULL,
    spent     numeric NOT NULL,
    earned    numeric NOT NULL,
    -- Platform fees of results that stand, each counted up to trusted_fee().
    fees      numeric NOT NULL,
    -- Settled executions that were ever disputed, and those with an upheld dispute.
    disputed  bigint NOT NULL,
    upheld    bigint NOT NULL
);

-- Most that one call, and one wallet, counts in the trust of an agent, in base units of platform fees: who buys its own
-- agent's first place needs many calls and many wallets, and pays the fee of each.
CREATE FUNCTION trusted_fee() RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 100000;
CREATE FUNCTION trusted_fees(fees numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN LEAST(fees, 1000000);
-- One wallet's disputes about an agent beyond the tenth count as one.
CREATE FUNCTION counted_disputes(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN LEAST(n, 11);

-- What a wallet paid an agent.
CREATE TABLE mirror_agent_callers (
    caller    text NOT NULL,
    agent     text NOT NULL,
    -- Settled executions, those with a dispute among them. 0 if a rolled-back chain lost them.
    completed bigint NOT NULL,
    -- Refunded executions.
    failed    bigint NOT NULL,
    -- What the settled ones cost, in base units; compensations of disputes are not subtracted.
    spent     numeric NOT NULL,
    -- As in the notes.
    fees      numeric NOT NULL,
    disputed  bigint NOT NULL,
    upheld    bigint NOT NULL,
    PRIMARY KEY (caller, agent)
);

CREATE TABLE mirror_agent_totals (
    agent          text PRIMARY KEY,
    -- Wallets with at least one settled execution.
    unique_callers bigint NOT NULL,
    -- What the creator received of settled executions, in base units; slashes are not subtracted.
    earned         numeric NOT NULL,
    -- The sum of trusted_fees(…) of all wallets.
    trust          numeric NOT NULL,
    -- The sum of counted_disputes(…) of all wallets, and the wallets with an upheld dispute.
    disputes       bigint NOT NULL,
    upheld_wallets bigint NOT NULL
);

-- The fees that wallets paid for an agent's results that stand. The wallets that receive fees and penalties, and the
-- admin, do not count: what they pay comes back to them.
CREATE FUNCTION agent_trust(p_agent text) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT LEAST(t.trust - COALESCE((
               SELECT sum(trusted_fees(c.fees)) FROM mirror_agent_callers c
               WHERE c.agent = p_agent AND c.caller IN (
                   SELECT unnest(ARRAY[g.admin, g.treasury_owner, g.insurance_owner]) FROM mirror_config g
                   WHERE g.closed_at_slot IS NULL)), 0), 9223372036854775807)::bigint
    FROM mirror_agent_totals t WHERE t.agent = p_agent;
END;
