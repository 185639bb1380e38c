-- The program's second pass: the mirror of its new accounts, trust, and the wallets that pay an agent.
--
-- The program that writes these accounts cannot read older ones, and no older chain goes on. So the mirror is emptied
-- and filled again from the chain. The gateway's tables and the metadata documents stay.

TRUNCATE mirror_config, mirror_creators, mirror_agents, mirror_executions, mirror_disputes, mirror_grants,
         mirror_quarantine, mirror_checkpoint;

DROP VIEW shown_executions, shown_executions_on_chain, shown_executions_off_chain, listed_agents, shown_agents;

CREATE OR REPLACE FUNCTION failure_reason(name text) RETURNS smallint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
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

-- As in 0003, with one more reason of failure.
CREATE OR REPLACE FUNCTION execution_is_sound(e executions) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
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
        -- The amounts of the record are known together or not at all.
        AND e.charged_amount >= 0
        AND e.charged_creator_amount >= 0
        AND e.charged_platform_amount >= 0
        AND (e.charged_amount IS NULL) = (e.charged_creator_amount IS NULL)
        AND (e.charged_amount IS NULL) = (e.charged_platform_amount IS NULL)
        AND e.failure_reason IN (failure_reason('creator_failed'), failure_reason('timeout'),
                                 failure_reason('invalid_response'), failure_reason('expired'),
                                 failure_reason('interrupted'))
        AND e.error_status BETWEEN 400 AND 599
        AND (e.lease_owner IS NULL) = (e.lease_until IS NULL)
        AND (e.state IN ('completed', 'failed')) = (e.finished_at IS NOT NULL)
        -- A result is complete, unless the execution was settled with another one.
        AND (e.state NOT IN ('result_stored', 'settling', 'completed')
             OR (e.state = 'completed' AND e.settled_elsewhere)
             OR (e.result IS NOT NULL AND e.result_hash IS NOT NULL AND e.result_signature IS NOT NULL
                 AND e.execution_time_ms IS NOT NULL))
        AND (e.state NOT IN ('refunding', 'failed')
             OR (e.error_status IS NOT NULL AND e.error_code IS NOT NULL AND e.error_message IS NOT NULL));
END
$$;

ALTER TABLE mirror_config
    ALTER COLUMN fee_bps TYPE bigint,
    ADD COLUMN insurance_owner           text NOT NULL,
    ADD COLUMN announced_insurance_owner text,
    ADD COLUMN min_price                 bigint NOT NULL,
    ADD COLUMN max_penalty_multiple      bigint NOT NULL,
    -- The announced parameters, and the first second in which they can be applied; null if none are announced.
    ADD COLUMN announced_parameters      jsonb,
    ADD COLUMN parameters_apply_from     timestamptz,
    ADD CHECK ((announced_parameters IS NULL) = (parameters_apply_from IS NULL));

ALTER TABLE mirror_creators
    ADD COLUMN next_agent_index             bigint NOT NULL,
    -- What the listings of closed agents counted, added up.
    ADD COLUMN closed_agents                bigint NOT NULL,
    ADD COLUMN closed_completed_executions  bigint NOT NULL,
    ADD COLUMN closed_successful_executions bigint NOT NULL,
    ADD COLUMN closed_failed_executions     bigint NOT NULL,
    ADD COLUMN closed_expired_executions    bigint NOT NULL,
    ADD COLUMN closed_disputed_executions   bigint NOT NULL,
    ADD COLUMN closed_slashed_total         bigint NOT NULL,
    ADD COLUMN closed_platform_fees_total   bigint NOT NULL;

ALTER TABLE mirror_agents
    ADD COLUMN terms_hash          bytea NOT NULL CHECK (octet_length(terms_hash) = 32),
    ADD COLUMN binding             boolean NOT NULL,
    ADD COLUMN disputed_amount     bigint NOT NULL,
    ADD COLUMN expired_executions  bigint NOT NULL,
    ADD COLUMN platform_fees_total bigint NOT NULL;

-- The platform fees that were paid for results that stand. Every factor is in the listing's account. The product of
-- two bigints can be larger than a bigint.
ALTER TABLE mirror_agents
    ADD COLUMN trust bigint NOT NULL GENERATED ALWAYS AS (
        div(platform_fees_total::numeric * successful_executions, GREATEST(total_executions, 1))::bigint
    ) STORED;
CREATE INDEX mirror_agents_by_trust ON mirror_agents (trust DESC, address)
    WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;

-- The program drops request_hash, result_key, grant_address, paid_from, deadline_at and timeout_seconds when an
-- execution ends. The mirror keeps what it knows of them; they are null if it never saw the record open.
ALTER TABLE mirror_executions
    DROP COLUMN refund_owner,
    ALTER COLUMN request_hash DROP NOT NULL,
    ALTER COLUMN result_key DROP NOT NULL,
    ALTER COLUMN deadline_at DROP NOT NULL,
    ALTER COLUMN timeout_seconds DROP NOT NULL,
    ADD COLUMN paid_from            text,
    ADD COLUMN fee_bps              integer NOT NULL,
    ADD COLUMN max_penalty_multiple smallint NOT NULL,
    ADD COLUMN binding              boolean NOT NULL,
    -- The number of the program's `Settler`; null unless settled. Only Rust reads it.
    ADD COLUMN settled_by           smallint;

ALTER TABLE mirror_disputes
    -- The creator's answer; null before.
    ADD COLUMN answer_hash bytea,
    ADD COLUMN answer_uri  text,
    ADD COLUMN answered_at timestamptz,
    ADD CHECK ((answered_at IS NULL) = (answer_hash IS NULL) AND (answered_at IS NULL) = (answer_uri IS NULL));

-- Which wallets paid which agent, exactly as the rows of `mirror_executions` say. Nobody counts these rows to show a
-- number.
--
-- Triggers note what each statement changed. The transaction then adds these notes to the totals, when it has all its
-- locks on executions, and in the order of the keys. If the triggers wrote the totals, two transactions could wait
-- for each other: one for an execution, one for a total.

CREATE TABLE mirror_caller_changes (
    agent      text NOT NULL,
    caller     text NOT NULL,
    executions bigint NOT NULL,
    fees       numeric NOT NULL
);

CREATE TABLE mirror_agent_callers (
    agent      text NOT NULL,
    caller     text NOT NULL,
    -- Settled executions, those with a dispute among them. 0 if a rolled-back chain lost them.
    executions bigint NOT NULL,
    -- What the platform received of them, in base units.
    fees       numeric NOT NULL,
    PRIMARY KEY (agent, caller)
);

CREATE TABLE mirror_agent_totals (
    agent          text PRIMARY KEY,
    -- Wallets with at least one settled execution.
    unique_callers bigint NOT NULL
);

-- Completed, with or without a dispute, whatever became of the dispute.
CREATE FUNCTION is_settled(status smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN status IN (record_status('completed'), record_status('disputed'), record_status('overturned'));

CREATE FUNCTION note_inserted_executions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_caller_changes (agent, caller, executions, fees)
    SELECT agent, caller, count(*), sum(platform_amount) FROM inserted WHERE is_settled(status) GROUP BY agent, caller;
    RETURN NULL;
END
$$;

CREATE FUNCTION note_deleted_executions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_caller_changes (agent, caller, executions, fees)
    SELECT agent, caller, -count(*), -sum(platform_amount) FROM deleted WHERE is_settled(status) GROUP BY agent, caller;
    RETURN NULL;
END
$$;

CREATE FUNCTION note_updated_executions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO mirror_caller_changes (agent, caller, executions, fees)
    SELECT agent, caller, sum(n), sum(n * platform_amount)
    FROM (SELECT agent, caller, status, platform_amount, 1 AS n FROM updated
          UNION ALL
          SELECT agent, caller, status, platform_amount, -1 FROM outdated) AS changed
    WHERE is_settled(status)
    GROUP BY agent, caller
    HAVING sum(n) <> 0 OR sum(n * platform_amount) <> 0;
    RETURN NULL;
END
$$;

CREATE TRIGGER note_inserted AFTER INSERT ON mirror_executions
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION note_inserted_executions();
CREATE TRIGGER note_deleted AFTER DELETE ON mirror_executions
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION note_deleted_executions();
CREATE TRIGGER note_updated AFTER UPDATE ON mirror_executions
    REFERENCING OLD TABLE AS outdated NEW TABLE AS updated
    FOR EACH STATEMENT EXECUTE FUNCTION note_updated_executions();

-- The views of 0005, with the new columns.

-- Listings that anybody may see: active or paused, and not closed.
CREATE VIEW shown_agents AS
SELECT a.address, a.creator, a.result_key, a.metadata_hash, a.metadata_uri, a.terms_hash, a.binding, a.price,
       a.total_executions, a.successful_executions, a.failed_executions, a.expired_executions, a.disputed_executions,
       a.platform_fees_total, a.trust, a.success_rate, a.avg_execution_time_ms, a.timeout_seconds, a.status,
       a.created_at, a.name, COALESCE(t.unique_callers, 0) AS unique_callers
FROM mirror_agents a
LEFT JOIN mirror_agent_totals t ON t.agent = a.address
WHERE a.status IN (agent_status('active'), agent_status('paused')) AND a.closed_at_slot IS NULL;

-- Listings in lists: active, not closed, and with a checked document. The partial indexes of `mirror_agents` have
-- the same condition.
CREATE VIEW listed_agents AS
SELECT address, name, tagline, tags, binding, price, total_executions, trust, success_rate, avg_execution_time_ms,
       creator, status, created_at
FROM mirror_agents
WHERE status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL;

-- Executions as their caller sees them, in two halves, so that each is read in the order of its index. The chain
-- decides what happened to the money. The gateway's row adds what the chain does not have: progress, the text of the
-- result, and times finer than a second.

-- What is shown of an execution, from what the chain and the gateway's row say. `record`: record_status(…); null if the
-- mirror has no record. The views below and the list of executions use these rules.
CREATE FUNCTION shown_status(record smallint, state text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN record = record_status('completed') THEN 'completed'
    WHEN record = record_status('disputed') THEN 'disputed'
    WHEN record IN (record_status('failed'), record_status('expired'), record_status('overturned')) THEN 'failed'
    -- The record is open, as far as the mirror shows, or not there.
    ELSE status_of_state(state)
END;

-- The amount; 0 after a refund; after an upheld dispute what is left of it after the compensation.
CREATE FUNCTION shown_cost(record smallint, amount bigint, state text, compensation bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN record IN (record_status('failed'), record_status('expired')) THEN 0
    WHEN (record IS NULL OR record = record_status('open')) AND state = 'failed' THEN 0
    WHEN record = record_status('overturned') THEN GREATEST(0, amount - COALESCE(compensation, 0))
    ELSE amount
END;

CREATE FUNCTION shown_end(
    record smallint, initiated_at timestamptz, record_finished_at timestamptz, finished_at timestamptz
) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN record <> record_status('open') THEN GREATEST(initiated_at, COALESCE(finished_at, record_finished_at))
    ELSE finished_at
END;

-- Executions with an on-chain record.
CREATE VIEW shown_executions_on_chain AS
SELECT
    m.address AS record,
    m.execution_id,
    m.agent,
    m.caller,
    m.initiated_at,
    shown_status(m.status, e.state) AS status,
    shown_end(m.status, m.initiated_at, m.finished_at, e.finished_at) AS completed_at,
    shown_cost(m.status, m.amount, e.state, d.compensation) AS cost,
    -- What was paid: 0 until the settlement.
    CASE WHEN x.paid THEN m.creator_amount ELSE 0 END AS creator_amount,
    CASE WHEN x.paid THEN m.platform_amount ELSE 0 END AS platform_amount,
    -- Shown only once it is paid for, and only if it is the result that was paid for.
    CASE WHEN x.delivered THEN e.result END AS result,
    CASE WHEN x.paid THEN COALESCE(m.result_hash, e.result_hash) END AS result_hash,
    -- A settled record reports these itself.
    CASE WHEN x.settled THEN m.tokens_used WHEN e.state = 'completed' THEN e.tokens_used END AS tokens_used,
    CASE WHEN x.settled THEN m.execution_time_ms ELSE e.execution_time_ms END AS execution_time_ms,
    CASE WHEN x.delivered THEN e.steps END AS steps,
    m.failure_reason,
    e.error_code,
    e.error_message,
    d.outcome AS dispute_outcome,
    d.raised_at AS dispute_raised_at,
    d.resolved_at AS dispute_resolved_at,
    d.evidence_hash AS dispute_evidence_hash,
    d.evidence_uri AS dispute_evidence_uri,
    d.compensation AS dispute_compensation,
    d.slash_amount - d.compensation AS dispute_penalty,
    d.answer_hash AS dispute_answer_hash,
    d.answer_uri AS dispute_answer_uri,
    d.answered_at AS dispute_answered_at,
    m.settled_by,
    m.binding
FROM mirror_executions m
LEFT JOIN executions e ON e.record = m.address
LEFT JOIN mirror_disputes d ON d.execution = m.address
CROSS JOIN LATERAL (
    SELECT m.status = record_status('open') AS open,
           m.status IN (record_status('completed'), record_status('disputed'), record_status('overturned')) AS settled
) AS r
CROSS JOIN LATERAL (
    SELECT r.open,
           r.settled,
           r.settled OR e.state = 'completed' AS paid,
           (r.settled AND e.result_hash IS NOT DISTINCT FROM m.result_hash)
               OR (r.open AND e.state = 'completed') AS delivered
) AS x;

-- Executions that the mirror does not show: not opened yet, or never opened.
CREATE VIEW shown_executions_off_chain AS
SELECT
    e.record,
    e.execution_id,
    e.agent,
    e.caller,
    e.created_at AS initiated_at,
    shown_status(NULL, e.state) AS status,
    e.finished_at AS completed_at,
    shown_cost(NULL, COALESCE(e.charged_amount, e.amount), e.state, NULL) AS cost,
    CASE WHEN e.state = 'completed' THEN COALESCE(e.charged_creator_amount, 0) ELSE 0::bigint END AS creator_amount,
    CASE WHEN e.state = 'completed' THEN COALESCE(e.charged_platform_amount, 0) ELSE 0::bigint END AS platform_amount,
    CASE WHEN e.state = 'completed' THEN e.result END AS result,
    CASE WHEN e.state = 'completed' THEN e.result_hash END AS result_hash,
    CASE WHEN e.state = 'completed' THEN e.tokens_used END AS tokens_used,
    e.execution_time_ms,
    CASE WHEN e.state = 'completed' THEN e.steps END AS steps,
    e.failure_reason,
    e.error_code,
    e.error_message,
    NULL::smallint AS dispute_outcome,
    NULL::timestamptz AS dispute_raised_at,
    NULL::timestamptz AS dispute_resolved_at,
    NULL::bytea AS dispute_evidence_hash,
    NULL::text AS dispute_evidence_uri,
    NULL::bigint AS dispute_compensation,
    NULL::bigint AS dispute_penalty,
    NULL::bytea AS dispute_answer_hash,
    NULL::text AS dispute_answer_uri,
    NULL::timestamptz AS dispute_answered_at,
    NULL::smallint AS settled_by,
    NULL::boolean AS binding
FROM executions e
WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record);

CREATE VIEW shown_executions AS
SELECT * FROM shown_executions_on_chain
UNION ALL
SELECT * FROM shown_executions_off_chain;
