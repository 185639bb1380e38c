-- The mirror of the program's accounts, the metadata documents of listings, and the state of the indexer.
--
-- Addresses are base58 text, amounts are USDC base units, hashes are 32 bytes. Each mirrored row has the `revision`
-- of the account that it shows and the `slot` at which it was read. A row is replaced only by a newer revision, or
-- by the same revision at a later slot. `closed_at_slot` is set when the chain no longer has the account; rows of
-- closed accounts stay as history.
--
-- `data_hash` is the BLAKE3 of the account's bytes. A row is written only if its revision or this hash differs.
-- `after_slot`: an earlier life of the account was closed, or a state of it was dropped with a fork, at that slot; states
-- that were read at that slot or before belong to what is gone.

-- Every mirrored account, whatever its kind: the table of each kind inherits these columns. Statements that are equal for all
-- kinds read and change them here. They must not delete here: the statement triggers of the tables would not see it.
CREATE TABLE mirror_accounts (
    address        text NOT NULL,
    slot           bigint NOT NULL,
    revision       bigint NOT NULL,
    observed_at    timestamptz NOT NULL DEFAULT now(),
    closed_at_slot bigint,
    data_hash      bytea CHECK (octet_length(data_hash) = 32),
    after_slot     bigint,
    -- Each account has a kind.
    CHECK (false) NO INHERIT
);

-- Whether a state that was read replaces a stored row: its revision is newer, or its bytes differ at a later slot. The row
-- of a closed account starts over if it was read after the closing: an address can be used again, and its revision then
-- starts again.
CREATE FUNCTION is_replaced(
    stored_slot bigint, stored_revision bigint, stored_hash bytea, after_slot bigint, closed_at_slot bigint,
    slot bigint, revision bigint, data_hash bytea
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (after_slot IS NULL OR slot > after_slot)
    AND (revision > stored_revision
         OR revision = stored_revision AND slot > stored_slot AND data_hash IS DISTINCT FROM stored_hash
         OR COALESCE(slot > closed_at_slot, false));

-- An address is used again if its record was closed and is opened once more. The row of an earlier use then has the key
-- `address@second`, in every table that names it: `began` is when that record was opened, or that dispute raised. So the
-- row of each opening stays, and nothing of one is shown with another.
CREATE FUNCTION past_key(address text, began timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN address || '@' || extract(epoch FROM began)::bigint;

-- Whether something began in a later use of an address: a record is closed a dispute window after its opening at the
-- earliest, and the shortest window has 72 hours. A fork moves a beginning by some seconds only.
CREATE FUNCTION is_next_use(began timestamptz, next timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN next >= began + interval '72 hours';

-- The address in a key.
CREATE FUNCTION key_address(key text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN split_part(key, '@', 1);

CREATE TABLE mirror_config (
    admin                    text NOT NULL,
    pending_admin            text,
    -- Null: there is no resolver. The last one was removed and its successor does not apply yet.
    resolver                 text,
    resolver_since           timestamptz NOT NULL,
    gateway_authority        text NOT NULL,
    treasury_owner           text NOT NULL,
    usdc_mint                text NOT NULL,
    announced_resolver       text,
    announced_treasury_owner text,
    -- First second in which the announced roles can be applied; null if none are announced.
    roles_apply_from         timestamptz,
    dispute_window_s         bigint NOT NULL,
    settle_grace_s           bigint NOT NULL,
    collateral_tiers         jsonb NOT NULL,
    fee_bps                  bigint NOT NULL,
    openings_paused          boolean NOT NULL,
    listings_paused          boolean NOT NULL,
    -- Null: there is none.
    guardian                 text,
    insurance_owner           text NOT NULL,
    announced_insurance_owner text,
    min_price                 bigint NOT NULL,
    dispute_bond              bigint NOT NULL,
    max_penalty_multiple      bigint NOT NULL,
    -- The announced parameters, and the first second in which they can be applied; null if none are announced.
    announced_parameters      jsonb,
    parameters_apply_from     timestamptz,
    PRIMARY KEY (address),
    CHECK ((announced_parameters IS NULL) = (parameters_apply_from IS NULL))
) INHERITS (mirror_accounts);

CREATE TABLE mirror_creators (
    wallet         text NOT NULL UNIQUE,
    display_name   text NOT NULL,
    -- Equal for names that look alike (Unicode's confusable characters); empty without a name.
    name_skeleton  text NOT NULL DEFAULT '',
    verified       boolean NOT NULL,
    verified_at    timestamptz,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    next_agent_index             bigint NOT NULL,
    -- What the listings of closed agents counted, added up.
    closed_agents                bigint NOT NULL,
    closed_completed_executions  bigint NOT NULL,
    closed_successful_executions bigint NOT NULL,
    closed_failed_executions     bigint NOT NULL,
    closed_unproved_failures     bigint NOT NULL DEFAULT 0,
    closed_expired_executions    bigint NOT NULL,
    closed_disputed_executions   bigint NOT NULL,
    closed_slashed_total         bigint NOT NULL,
    closed_platform_fees_total   bigint NOT NULL,
    -- The transaction that changed the row last, for the list of agents. Profiles change seldom.
    changed_in                   xid8 NOT NULL DEFAULT '0',
    PRIMARY KEY (address)
) INHERITS (mirror_accounts);
CREATE INDEX mirror_creators_by_change ON mirror_creators (changed_in, wallet);
CREATE INDEX mirror_creators_verified_by_skeleton ON mirror_creators (name_skeleton) WHERE verified;

-- Whether a creator's name looks like that of another creator, who is verified.
CREATE FUNCTION resembles_verified(p_wallet text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (
    SELECT FROM mirror_creators c JOIN mirror_creators v USING (name_skeleton)
    WHERE c.wallet = p_wallet AND NOT c.verified AND c.name_skeleton <> '' AND v.verified
        AND v.closed_at_slot IS NULL);

CREATE TABLE mirror_agents (
    creator                 text NOT NULL,
    agent_index             bigint NOT NULL,
    result_key              text NOT NULL,
    metadata_hash           bytea NOT NULL CHECK (octet_length(metadata_hash) = 32),
    metadata_uri            text NOT NULL,
    price                   bigint NOT NULL CHECK (price >= 0),
    collateral              bigint NOT NULL,
    slashed_total           bigint NOT NULL,
    open_amount             bigint NOT NULL,
    total_executions        bigint NOT NULL,
    successful_executions   bigint NOT NULL,
    failed_executions       bigint NOT NULL,
    unproved_failures       bigint NOT NULL DEFAULT 0,
    disputed_executions     bigint NOT NULL,
    completed_executions    bigint NOT NULL,
    -- Of the executions that the gateway settled, and their number.
    execution_time_ms_total bigint NOT NULL,
    timed_executions        bigint NOT NULL,
    timeout_seconds         bigint NOT NULL,
    open_executions         bigint NOT NULL,
    open_disputes           bigint NOT NULL,
    -- agent_status(…). An active listing that is suspended takes no calls: it is shown as paused.
    status                  smallint NOT NULL,
    suspended               boolean NOT NULL DEFAULT false,
    created_at              timestamptz NOT NULL,
    updated_at              timestamptz NOT NULL,
    last_dispute_deadline   timestamptz,
    -- Copied from the document whose SHA-256 is `metadata_hash`, so that one index delivers a page of a list in
    -- order. Null until that document is fetched; the listing is not shown until then.
    name                    text,
    tagline                 text,
    tags                    text[],
    -- Share of the finished executions that completed without an upheld dispute; 0 before the first.
    success_rate            double precision NOT NULL GENERATED ALWAYS AS (
        CASE WHEN total_executions > 0 THEN successful_executions::double precision / total_executions ELSE 0 END
    ) STORED,
    -- Mean over the completed executions that the gateway settled; 0 before the first.
    avg_execution_time_ms   bigint NOT NULL GENERATED ALWAYS AS (
        CASE WHEN timed_executions > 0 THEN execution_time_ms_total / timed_executions ELSE 0 END
    ) STORED,
    binding                 boolean NOT NULL,
    min_cover               smallint NOT NULL DEFAULT 0,
    disputed_amount         bigint NOT NULL,
    covered_amount          bigint NOT NULL DEFAULT 0,
    slashable_amount        bigint NOT NULL DEFAULT 0,
    open_bonds              bigint NOT NULL DEFAULT 0,
    expired_executions      bigint NOT NULL,
    platform_fees_total     bigint NOT NULL,
    PRIMARY KEY (address),
    CHECK ((name IS NULL) = (tagline IS NULL) AND (name IS NULL) = (tags IS NULL))
-- Room for the next state of a listing on its own page. Then its indexes do not change with it.
) INHERITS (mirror_accounts) WITH (fillfactor = 70);
CREATE INDEX mirror_agents_by_creator ON mirror_agents (creator);
-- The listings of a creator, newest first.
CREATE INDEX mirror_agents_standing_by_creator ON mirror_agents (creator, created_at DESC, address)
    WHERE closed_at_slot IS NULL;
CREATE INDEX mirror_agents_without_document ON mirror_agents (address)
    WHERE name IS NULL AND closed_at_slot IS NULL;
CREATE INDEX mirror_agents_by_document ON mirror_agents (metadata_hash);
-- The audit reads closed rows in the order of their addresses.
CREATE INDEX mirror_agents_closed ON mirror_agents (address) WHERE closed_at_slot IS NOT NULL;

CREATE TABLE mirror_executions (
    execution_id      uuid NOT NULL,
    agent             text NOT NULL,
    caller            text NOT NULL,
    -- The program drops request_hash, result_key, grant_address, paid_from, deadline_at and timeout_seconds when an
    -- execution ends: null from then on.
    request_hash      bytea,
    result_key        text,
    rent_payer        text NOT NULL,
    grant_address     text,
    result_hash       bytea,
    amount            bigint NOT NULL CHECK (amount >= 0),
    creator_amount    bigint NOT NULL,
    platform_amount   bigint NOT NULL,
    tokens_used       bigint,
    execution_time_ms bigint NOT NULL,
    timeout_seconds   bigint,
    -- Seconds after completion in which the caller may raise a dispute.
    dispute_window_s  bigint NOT NULL,
    opened_at         timestamptz NOT NULL,
    deadline_at       timestamptz,
    finished_at       timestamptz,
    -- record_status(…)
    status            smallint NOT NULL,
    -- failure_reason(…)
    failure_reason    smallint,
    dispute_count     smallint NOT NULL,
    -- When the caller asked: by the gateway's clock if it took the request, else by the chain's at opening.
    initiated_at      timestamptz NOT NULL,
    paid_from            text,
    fee_bps              integer NOT NULL,
    max_penalty_multiple smallint NOT NULL,
    binding              boolean NOT NULL,
    -- settler(…); null unless settled.
    settled_by           smallint,
    -- Whether it counts as a failure of the agent.
    agents_failure       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (address)
) INHERITS (mirror_accounts);
-- Each opening of a record has a row.
CREATE INDEX mirror_executions_by_caller_id ON mirror_executions (caller, execution_id);
CREATE INDEX mirror_executions_open_by_agent ON mirror_executions (agent) WHERE status = record_status('open');
-- A wallet's open executions: their sum, and those past their deadline. Few at a time.
CREATE INDEX mirror_executions_open_by_caller ON mirror_executions (caller, deadline_at)
    WHERE closed_at_slot IS NULL AND status = record_status('open');
-- What callers can still dispute, for the collateral cover of an agent.
CREATE INDEX mirror_executions_disputable ON mirror_executions (agent, finished_at DESC)
    INCLUDE (amount, dispute_window_s)
    WHERE closed_at_slot IS NULL AND status = record_status('completed');
CREATE INDEX mirror_executions_by_result ON mirror_executions (result_hash) WHERE result_hash IS NOT NULL;
CREATE INDEX mirror_executions_closed ON mirror_executions (address) WHERE closed_at_slot IS NOT NULL;

CREATE TABLE mirror_disputes (
    execution       text NOT NULL,
    agent           text NOT NULL,
    raised_by       text NOT NULL,
    rent_payer      text NOT NULL,
    evidence_hash   bytea NOT NULL,
    evidence_uri    text NOT NULL,
    -- Null unless the resolver decided, like the two others of the decision.
    resolution_hash bytea,
    resolution_uri  text,
    resolved_by     text,
    bond            bigint NOT NULL DEFAULT 0,
    raised_at       timestamptz NOT NULL,
    resolved_at     timestamptz,
    slash_amount    bigint NOT NULL,
    compensation    bigint NOT NULL,
    -- What the collateral covered of the claim when it was raised.
    covered_amount  bigint NOT NULL DEFAULT 0,
    -- The number of the program's `DisputeOutcome`. Only Rust reads it.
    outcome         smallint NOT NULL,
    -- The creator's answer; null before.
    answer_hash   bytea,
    answer_uri    text,
    answered_at   timestamptz,
    -- As in `execution_list`.
    creator       text,
    PRIMARY KEY (address),
    CHECK ((answered_at IS NULL) = (answer_hash IS NULL) AND (answered_at IS NULL) = (answer_uri IS NULL))
) INHERITS (mirror_accounts);
CREATE INDEX mirror_disputes_by_execution ON mirror_disputes (execution);
CREATE INDEX mirror_disputes_by_evidence ON mirror_disputes (evidence_hash);
CREATE INDEX mirror_disputes_by_answer ON mirror_disputes (answer_hash) WHERE answer_hash IS NOT NULL;
CREATE INDEX mirror_disputes_by_resolution ON mirror_disputes (resolution_hash) WHERE resolution_hash IS NOT NULL;
-- What disputes gave back to those who raised them.
CREATE INDEX mirror_disputes_compensated ON mirror_disputes (raised_by) WHERE compensation > 0;
CREATE INDEX mirror_disputes_closed ON mirror_disputes (address) WHERE closed_at_slot IS NOT NULL;

CREATE TABLE mirror_grants (
    wallet            text NOT NULL,
    session_key       text NOT NULL,
    allowed_agents    text[] NOT NULL,
    per_call_cap      bigint NOT NULL,
    total_cap         bigint NOT NULL,
    -- Null: the day is not limited.
    daily_cap         bigint,
    -- On the UTC day `spent_day`, counted from 1970.
    spent_on_day      bigint NOT NULL,
    spent_day         bigint NOT NULL,
    spent             bigint NOT NULL,
    executions        bigint NOT NULL,
    expires_at_unix_s bigint NOT NULL,
    created_at        timestamptz NOT NULL,
    revoked           boolean NOT NULL,
    PRIMARY KEY (address)
) INHERITS (mirror_accounts);
CREATE INDEX mirror_grants_by_wallet ON mirror_grants (wallet);
-- The wallets that granted spending to a session key.
CREATE INDEX mirror_grants_by_session_key ON mirror_grants (session_key, wallet);

-- Accounts of the program whose bytes cannot be decoded.
CREATE TABLE mirror_quarantine (
    address     text PRIMARY KEY,
    slot        bigint NOT NULL,
    data        bytea NOT NULL,
    error       text NOT NULL,
    observed_at timestamptz NOT NULL DEFAULT now(),
    data_hash   bytea CHECK (octet_length(data_hash) = 32)
);

-- What the mirror shows of each account.
CREATE VIEW mirror_states AS
SELECT address, data_hash, closed_at_slot FROM mirror_accounts
UNION ALL SELECT address, data_hash, NULL FROM mirror_quarantine;

-- The whole row of each account, with the name of its table.
CREATE VIEW mirror_rows AS
SELECT 'mirror_config' AS name, address, closed_at_slot, to_jsonb(t) AS row FROM mirror_config t
UNION ALL SELECT 'mirror_creators', address, closed_at_slot, to_jsonb(t) FROM mirror_creators t
UNION ALL SELECT 'mirror_agents', address, closed_at_slot, to_jsonb(t) FROM mirror_agents t
UNION ALL SELECT 'mirror_executions', address, closed_at_slot, to_jsonb(t) FROM mirror_executions t
UNION ALL SELECT 'mirror_disputes', address, closed_at_slot, to_jsonb(t) FROM mirror_disputes t
UNION ALL SELECT 'mirror_grants', address, closed_at_slot, to_jsonb(t) FROM mirror_grants t;

-- Such a row as its account says it: with addresses in place of keys.
CREATE FUNCTION of_account(r jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN r || jsonb_strip_nulls(jsonb_build_object(
    'address', key_address(r ->> 'address'), 'execution', key_address(r ->> 'execution')));

-- The slot that the mirror has reached; written in the transaction that writes the rows.
CREATE TABLE mirror_checkpoint (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    slot         bigint NOT NULL,
    genesis_hash text,
    snapshot_at  timestamptz,
    updated_at   timestamptz NOT NULL DEFAULT now()
);
