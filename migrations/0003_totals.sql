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
    earned    numeric NOT NULL
);

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
    PRIMARY KEY (caller, agent)
);

CREATE TABLE mirror_agent_totals (
    agent          text PRIMARY KEY,
    -- Wallets with at least one settled execution.
    unique_callers bigint NOT NULL,
    -- What the creator received of settled executions, in base units; slashes are not subtracted.
    earned         numeric NOT NULL
);
