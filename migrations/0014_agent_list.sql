-- The api processes answer GET /v1/agents from their memory. They read what changed since their last look, so triggers
-- note which transaction changed a row. With a sequence or a time, a look would miss a transaction that commits late.

-- Every agent that there ever was, with the transaction that changed or removed it last. A table of its own: with an
-- index over a column of `mirror_agents`, each change of a listing would be one of all its indexes.
CREATE TABLE mirror_agent_changes (
    agent      text PRIMARY KEY,
    changed_in xid8 NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX mirror_agent_changes_in_order ON mirror_agent_changes (changed_in, agent);

-- At the end of the transaction, because a transaction that changes totals alone notes its agents without their rows, and
-- last: it would hold executions that one with a listing and executions waits for, and wait for the note of that one.
CREATE FUNCTION note_changed_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_agent_changes AS c (agent, changed_in)
    VALUES (COALESCE(NEW.address, OLD.address), pg_current_xact_id())
    ON CONFLICT (agent) DO UPDATE SET changed_in = excluded.changed_in WHERE c.changed_in <> excluded.changed_in;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER note_inserted_or_deleted AFTER INSERT OR DELETE ON mirror_agents
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_changed_agent();
-- Every column that the list shows, sorts or filters by, or that such a column is generated from. An update of another
-- one, such as the open amount, which changes with each call, is no change of the list.
CREATE CONSTRAINT TRIGGER note_changed AFTER UPDATE ON mirror_agents DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.address, OLD.creator, OLD.price, OLD.total_executions, OLD.successful_executions,
           OLD.timed_executions, OLD.execution_time_ms_total, OLD.binding, OLD.created_at,
           OLD.status, OLD.closed_at_slot, OLD.metadata_hash, OLD.name, OLD.tagline, OLD.tags)
          IS DISTINCT FROM
          (NEW.address, NEW.creator, NEW.price, NEW.total_executions, NEW.successful_executions,
           NEW.timed_executions, NEW.execution_time_ms_total, NEW.binding, NEW.created_at,
           NEW.status, NEW.closed_at_slot, NEW.metadata_hash, NEW.name, NEW.tagline, NEW.tags))
    EXECUTE FUNCTION note_changed_agent();

-- A creator's change is one of all its agents. A profile is deleted with the agents, and never alone.
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;
CREATE TRIGGER note_inserted BEFORE INSERT ON mirror_creators FOR EACH ROW EXECUTE FUNCTION note_change();
CREATE TRIGGER note_changed BEFORE UPDATE ON mirror_creators FOR EACH ROW
    WHEN ((OLD.wallet, OLD.verified, OLD.closed_at_slot) IS DISTINCT FROM (NEW.wallet, NEW.verified, NEW.closed_at_slot))
    EXECUTE FUNCTION note_change();

-- Notes agents whose trust changed, each once.
CREATE FUNCTION note_agents(p_agents text[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO mirror_agent_changes (agent, changed_in)
    SELECT agent, pg_current_xact_id() FROM unnest(p_agents) AS a (agent) ORDER BY agent
    ON CONFLICT (agent) DO UPDATE SET changed_in = excluded.changed_in
$$;

-- The trust of an agent leaves out the wallets of some roles.
CREATE FUNCTION note_changed_roles() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM note_agents(ARRAY(
        SELECT DISTINCT agent FROM mirror_agent_callers
        WHERE caller IN (OLD.admin, OLD.treasury_owner, OLD.insurance_owner,
                         NEW.admin, NEW.treasury_owner, NEW.insurance_owner)));
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER note_changed_roles AFTER UPDATE ON mirror_config DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN ((OLD.admin, OLD.treasury_owner, OLD.insurance_owner)
          IS DISTINCT FROM (NEW.admin, NEW.treasury_owner, NEW.insurance_owner))
    EXECUTE FUNCTION note_changed_roles();
