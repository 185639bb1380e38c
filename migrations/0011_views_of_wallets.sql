-- What the page of a wallet shows. Sums over a wallet's executions are kept, because a wallet can have any number of
-- them; everything else is a short range of an index.

-- What each wallet paid, and what each agent received, exactly as the rows of `mirror_executions` say.
--
-- As in 0006, triggers note what a statement changed, and the transaction adds the notes to the totals when it has all
-- its locks on executions, in the order of the keys. The notes are a table of their own: a process of the version
-- before leaves them, and the next process of this version adds them.

CREATE TABLE mirror_wallet_changes (
    caller    text NOT NULL,
    agent     text NOT NULL,
    completed bigint NOT NULL,
    failed    bigint NOT NULL,
    spent     numeric NOT NULL,
    earned    numeric NOT NULL
);

CREATE TABLE mirror_wallet_totals (
    wallet    text PRIMARY KEY,
    -- Settled executions, those with a dispute among them.
    completed bigint NOT NULL,
    -- Refunded executions.
    failed    bigint NOT NULL,
    -- What the settled ones cost, in base units; compensations of disputes are not subtracted.
    spent     numeric NOT NULL
);

CREATE TABLE mirror_agent_earnings (
    agent  text PRIMARY KEY,
    -- What the creator received of settled executions, in base units; slashes are not subtracted.
    earned numeric NOT NULL
);

CREATE FUNCTION is_refunded(status smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status IN (record_status('failed'), record_status('expired'));

CREATE FUNCTION note_wallets_of_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_wallet_changes (caller, agent, completed, failed, spent, earned)
    SELECT caller, agent, sum(is_settled(status)::int), sum(is_refunded(status)::int),
           sum(is_settled(status)::int * amount), sum(is_settled(status)::int * creator_amount)
    FROM inserted WHERE is_settled(status) OR is_refunded(status) GROUP BY caller, agent;
    RETURN NULL;
END
$$;

CREATE FUNCTION note_wallets_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_wallet_changes (caller, agent, completed, failed, spent, earned)
    SELECT caller, agent, -sum(is_settled(status)::int), -sum(is_refunded(status)::int),
           -sum(is_settled(status)::int * amount), -sum(is_settled(status)::int * creator_amount)
    FROM deleted WHERE is_settled(status) OR is_refunded(status) GROUP BY caller, agent;
    RETURN NULL;
END
$$;

CREATE FUNCTION note_wallets_of_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_wallet_changes (caller, agent, completed, failed, spent, earned)
    SELECT caller, agent, sum(n * settled), sum(n * refunded), sum(n * settled * amount),
           sum(n * settled * creator_amount)
    FROM (SELECT caller, agent, amount, creator_amount, 1 AS n, is_settled(status)::int AS settled,
                 is_refunded(status)::int AS refunded
          FROM updated
          UNION ALL
          SELECT caller, agent, amount, creator_amount, -1, is_settled(status)::int, is_refunded(status)::int
          FROM outdated) AS changed
    GROUP BY caller, agent
    HAVING sum(n * settled) <> 0 OR sum(n * refunded) <> 0 OR sum(n * settled * amount) <> 0
        OR sum(n * settled * creator_amount) <> 0;
    RETURN NULL;
END
$$;

CREATE TRIGGER note_wallets_of_inserted AFTER INSERT ON mirror_executions
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_wallets_of_inserted();
CREATE TRIGGER note_wallets_of_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_wallets_of_deleted();
CREATE TRIGGER note_wallets_of_updated AFTER UPDATE ON mirror_executions
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated
    FOR EACH STATEMENT EXECUTE FUNCTION note_wallets_of_updated();

-- The executions that are there already. `CREATE TRIGGER` keeps others from writing until this is committed.
INSERT INTO mirror_wallet_totals (wallet, completed, failed, spent)
SELECT caller, count(*) FILTER (WHERE is_settled(status)), count(*) FILTER (WHERE is_refunded(status)),
       COALESCE(sum(amount) FILTER (WHERE is_settled(status)), 0)
FROM mirror_executions WHERE is_settled(status) OR is_refunded(status) GROUP BY caller;
INSERT INTO mirror_agent_earnings (agent, earned)
SELECT agent, sum(creator_amount) FROM mirror_executions WHERE is_settled(status) GROUP BY agent;

-- A wallet's open executions: their sum, and those past their deadline. Few at a time.
CREATE INDEX mirror_executions_open_by_caller ON mirror_executions (caller, deadline_at)
    WHERE closed_at_slot IS NULL AND status = record_status('open');
-- What disputes gave back to those who raised them.
CREATE INDEX mirror_disputes_compensated ON mirror_disputes (raised_by) WHERE compensation > 0;
-- The listings of a creator, newest first.
CREATE INDEX mirror_agents_standing_by_creator ON mirror_agents (creator, created_at DESC, address)
    WHERE closed_at_slot IS NULL;
