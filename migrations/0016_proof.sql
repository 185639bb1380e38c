-- The last bytes of closed accounts, which prove their rows, and the progress of a rebuild.

-- The last bytes of closed accounts, from the events of the transactions that closed them.
CREATE TABLE mirror_closings (
    address   text NOT NULL,
    -- The slot of the transaction. An address can be used and closed again later.
    slot      bigint NOT NULL,
    signature text NOT NULL,
    kind      text NOT NULL CHECK (kind IN ('execution', 'dispute', 'agent')),
    data      bytea NOT NULL,
    -- By the chain's clock.
    closed_at timestamptz NOT NULL,
    PRIMARY KEY (address, slot)
);
CREATE INDEX mirror_closings_newest ON mirror_closings (closed_at DESC, address);

-- Closed rows whose closing is searched for. `error`: why the last search found nothing.
CREATE TABLE mirror_closings_wanted (
    address        text PRIMARY KEY,
    closed_at_slot bigint NOT NULL,
    since          timestamptz NOT NULL DEFAULT now(),
    attempts       integer NOT NULL DEFAULT 0,
    next_attempt   timestamptz NOT NULL DEFAULT now(),
    error          text
);
CREATE INDEX mirror_closings_wanted_next ON mirror_closings_wanted (next_attempt, address);

CREATE FUNCTION want_closing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_closings_wanted AS w (address, closed_at_slot) VALUES (NEW.address, NEW.closed_at_slot)
    ON CONFLICT (address) DO UPDATE SET
        closed_at_slot = excluded.closed_at_slot, since = now(), attempts = 0, next_attempt = now(), error = NULL;
    RETURN NULL;
END
$$;

-- The condition stands in the trigger, so that an update of an open row does not call the function.
CREATE TRIGGER want_closing AFTER UPDATE OF closed_at_slot ON mirror_executions FOR EACH ROW
    WHEN (NEW.closed_at_slot IS NOT NULL AND OLD.closed_at_slot IS NULL) EXECUTE FUNCTION want_closing();
CREATE TRIGGER want_closing AFTER UPDATE OF closed_at_slot ON mirror_disputes FOR EACH ROW
    WHEN (NEW.closed_at_slot IS NOT NULL AND OLD.closed_at_slot IS NULL) EXECUTE FUNCTION want_closing();
CREATE TRIGGER want_closing AFTER UPDATE OF closed_at_slot ON mirror_agents FOR EACH ROW
    WHEN (NEW.closed_at_slot IS NOT NULL AND OLD.closed_at_slot IS NULL) EXECUTE FUNCTION want_closing();

-- How far `crtx-server rebuild` is. A rebuild works in rounds: it lists the transactions that no round before had, newest
-- first, then reads them, oldest first.
CREATE TABLE mirror_rebuild (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    genesis_hash text NOT NULL,
    -- The newest transaction of the rounds before, and of this one.
    known        text,
    newest       text,
    -- The last transaction that this round listed, and whether it listed all.
    cursor       text,
    listed       boolean NOT NULL DEFAULT false,
    -- Transactions that went through, those that were read, and what was found in them.
    transactions bigint NOT NULL DEFAULT 0,
    read         bigint NOT NULL DEFAULT 0,
    closings     bigint NOT NULL DEFAULT 0,
    -- Every closed account of the program is known.
    finished_at  timestamptz
);

-- Transactions of the round that are not read yet. The oldest has the highest position.
CREATE TABLE mirror_rebuild_transactions (
    position  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    signature text NOT NULL
);

-- What the rows of the kept totals must be, counted from the executions: the audit compares, and keeps it if they differ.
CREATE VIEW counted_callers AS
    SELECT caller, agent, count(*) FILTER (WHERE is_settled(status)) AS completed,
           count(*) FILTER (WHERE is_refunded(status)) AS failed,
           COALESCE(sum(amount) FILTER (WHERE is_settled(status)), 0) AS spent,
           COALESCE(sum(LEAST(platform_amount, trusted_fee()))
               FILTER (WHERE is_settled(status) AND status <> record_status('overturned')), 0) AS fees,
           COALESCE(sum(dispute_count) FILTER (WHERE is_settled(status)), 0)::bigint AS disputed,
           count(*) FILTER (WHERE status = record_status('overturned')) AS upheld
    FROM mirror_executions WHERE is_settled(status) OR is_refunded(status) GROUP BY caller, agent;
CREATE VIEW counted_agents AS
    SELECT e.agent, e.unique_callers, e.earned, c.trust, c.disputes, c.upheld_wallets
    FROM (SELECT agent, count(DISTINCT caller) AS unique_callers, sum(creator_amount) AS earned
          FROM mirror_executions WHERE is_settled(status) GROUP BY agent) AS e
    JOIN (SELECT agent, sum(trusted_fees(fees)) AS trust, sum(counted_disputes(disputed))::bigint AS disputes,
                 count(*) FILTER (WHERE upheld > 0) AS upheld_wallets
          FROM counted_callers GROUP BY agent) AS c USING (agent);

-- Fails if the writers of now do not end in a moment.
CREATE FUNCTION recount_totals() RETURNS void LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
BEGIN
    -- Nobody writes executions meanwhile.
    LOCK TABLE mirror_executions IN SHARE MODE;
    DELETE FROM mirror_total_notes;
    DELETE FROM mirror_agent_callers;
    DELETE FROM mirror_agent_totals;
    INSERT INTO mirror_agent_callers SELECT * FROM counted_callers;
    INSERT INTO mirror_agent_totals SELECT * FROM counted_agents;
    -- Lists show the trust.
    PERFORM note_agents(ARRAY(SELECT address FROM mirror_agents));
END
$$;
