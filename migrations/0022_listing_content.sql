-- Content that only a listing names stays held, so that it can be dropped once the listing names something else. Before,
-- a creator could fill the disk with superseded documents for the fees of its updates.

-- Whether what names this hash never names another: a record its result, a dispute its evidence, answer or resolution.
CREATE OR REPLACE FUNCTION is_named_on_chain(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM mirror_executions m WHERE m.result_hash = hash)
    OR EXISTS (SELECT FROM mirror_disputes m WHERE m.evidence_hash = hash)
    OR EXISTS (SELECT FROM mirror_disputes m WHERE m.answer_hash = hash)
    OR EXISTS (SELECT FROM mirror_disputes m WHERE m.resolution_hash = hash);

-- Whether a record or a dispute refers to the content, itself or through the document that names it.
CREATE FUNCTION is_kept_for_ever(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN is_named_on_chain(hash)
    OR EXISTS (SELECT FROM content_parts p WHERE p.part = hash AND is_named_on_chain(p.whole));

-- The last documents of each listing, which the indexer prunes.
CREATE INDEX agent_metadata_by_hash ON agent_metadata (sha256) WHERE bytes IS NOT NULL;

-- Whether an open listing names the content, or it is one of the listing's last documents.
CREATE FUNCTION is_of_listing(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM mirror_agents m WHERE m.metadata_hash = hash AND m.closed_at_slot IS NULL)
    OR EXISTS (SELECT FROM agent_metadata d WHERE d.sha256 = hash AND d.bytes IS NOT NULL);

CREATE OR REPLACE FUNCTION is_referred_to(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN is_kept_for_ever(hash) OR is_of_listing(hash);

-- What becomes of a held piece: 'kept' with the content that stays for ever, 'listed' as long as a listing refers to
-- it, or 'dropped' after its time. A listing's content that is longer than any document is dropped as well.
CREATE FUNCTION content_fate(hash bytea, size bigint, max_listed bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN is_kept_for_ever(hash) THEN 'kept'
            WHEN size <= max_listed AND is_of_listing(hash) THEN 'listed'
            ELSE 'dropped' END;

-- Whether a worker saw that a listing refers to the piece. It then leaves the room that all wallets share, because the
-- listing's collateral pays for it.
ALTER TABLE held_content ADD COLUMN listed boolean NOT NULL DEFAULT false;
DROP INDEX held_content_sizes;
CREATE INDEX held_content_sizes ON held_content (known) INCLUDE (size) WHERE NOT listed;
