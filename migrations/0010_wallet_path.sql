-- The wallet's own path: executions that a wallet opened itself, content that something refers to or soon will, and
-- the lists of disputes.

-- Without a session key: the wallet opened the execution itself and handed it over. A comparison with null is not
-- true, so no limit of a key counts it.
ALTER TABLE executions ALTER COLUMN session_key DROP NOT NULL;
ALTER TABLE call_failures ALTER COLUMN session_key DROP NOT NULL;

-- Content that a wallet handed in and that nothing refers to yet. The bytes are in the content store. A row is written
-- before its bytes, so a piece without a row is never left behind.
CREATE TABLE held_content (
    wallet  text        NOT NULL,
    sha256  bytea       NOT NULL CHECK (octet_length(sha256) = 32),
    size    bigint      NOT NULL CHECK (size >= 0),
    -- Whether the mirror knew the wallet. Wallets cost nothing, so the unknown ones share a limit.
    known   boolean     NOT NULL,
    held_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (wallet, sha256)
);
CREATE INDEX held_content_by_hash ON held_content (sha256);
CREATE INDEX held_content_by_time ON held_content (held_at);
CREATE INDEX held_content_sizes ON held_content (known) INCLUDE (size);

-- Files that an evidence document names: who refers to the document refers to them.
CREATE TABLE content_parts (
    whole bytea NOT NULL CHECK (octet_length(whole) = 32),
    part  bytea NOT NULL CHECK (octet_length(part) = 32),
    PRIMARY KEY (whole, part)
);
CREATE INDEX content_parts_by_part ON content_parts (part);

CREATE INDEX mirror_executions_by_result ON mirror_executions (result_hash) WHERE result_hash IS NOT NULL;
CREATE INDEX mirror_agents_by_document ON mirror_agents (metadata_hash);
CREATE INDEX mirror_disputes_by_evidence ON mirror_disputes (evidence_hash);
CREATE INDEX mirror_disputes_by_answer ON mirror_disputes (answer_hash) WHERE answer_hash IS NOT NULL;
CREATE INDEX mirror_disputes_by_resolution ON mirror_disputes (resolution_hash) WHERE resolution_hash IS NOT NULL;

-- Whether an account holds this hash: a record its result, a listing its document, a dispute its evidence, answer or
-- resolution.
CREATE FUNCTION is_named_on_chain(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM mirror_executions m WHERE m.result_hash = hash)
    OR EXISTS (SELECT FROM mirror_agents m WHERE m.metadata_hash = hash)
    OR EXISTS (SELECT FROM mirror_disputes m WHERE m.evidence_hash = hash)
    OR EXISTS (SELECT FROM mirror_disputes m WHERE m.answer_hash = hash)
    OR EXISTS (SELECT FROM mirror_disputes m WHERE m.resolution_hash = hash);

-- Whether something on chain refers to the content with this hash, itself or through the document that names it.
CREATE FUNCTION is_referred_to(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN is_named_on_chain(hash)
    OR EXISTS (SELECT FROM content_parts p WHERE p.part = hash AND is_named_on_chain(p.whole));

-- Whether the wallet has anything on chain that costs rent.
CREATE FUNCTION is_known_wallet(who text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM mirror_executions m WHERE m.caller = who)
    OR EXISTS (SELECT FROM mirror_creators m WHERE m.wallet = who)
    OR EXISTS (SELECT FROM mirror_grants m WHERE m.wallet = who)
    OR EXISTS (SELECT FROM mirror_config m WHERE m.resolver = who);

-- The lists of disputes: of a caller, of an agent (and so of a creator), and all of them for the resolver. A dispute is
-- open while `resolved_at` is null.
CREATE INDEX mirror_disputes_by_caller ON mirror_disputes (raised_by, raised_at DESC);
CREATE INDEX mirror_disputes_by_agent ON mirror_disputes (agent, raised_at DESC);
CREATE INDEX mirror_disputes_open ON mirror_disputes (raised_at, address) WHERE resolved_at IS NULL;
CREATE INDEX mirror_disputes_decided ON mirror_disputes (raised_at DESC, address) WHERE resolved_at IS NOT NULL;
