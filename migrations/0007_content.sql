-- Content by its hash: the documents of listings, what wallets handed in, and what refers to it.

-- Content that only a listing names stays held, so that it can be dropped once the listing names something else.
-- Otherwise a creator could fill the disk with superseded documents for the fees of its updates.

-- Metadata documents. A row holds either a document whose SHA-256 is `sha256`, and then `error` is null, or the
-- reason why there is none and the time of the next attempt.
CREATE TABLE agent_metadata (
    agent        text NOT NULL,
    sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
    uri          text NOT NULL,
    document     jsonb,
    name         text,
    tagline      text,
    tags         text[],
    endpoint     text,
    fetched_at   timestamptz,
    error        text,
    attempts     integer NOT NULL DEFAULT 0,
    next_attempt timestamptz,
    -- The document as it was fetched: `jsonb` does not keep what the hash was made of. Null once the listing is closed and
    -- only the name is kept; `document` is '{}' then.
    bytes        bytea,
    -- Which kind of failure `error` is; null with a document.
    error_code   text CHECK (error_code IN ('document_unavailable', 'document_mismatch', 'document_invalid')),
    last_attempt timestamptz,
    PRIMARY KEY (agent, sha256),
    CHECK ((error IS NULL) = (document IS NOT NULL)),
    CHECK (
        document IS NULL
        OR (name IS NOT NULL AND tagline IS NOT NULL AND tags IS NOT NULL AND endpoint IS NOT NULL
            AND fetched_at IS NOT NULL)
    ),
    CHECK (error_code IS NULL OR error IS NOT NULL)
);

-- A listing that names another document is shown with what that one says, or not before it is fetched.
CREATE FUNCTION copy_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT d.name, d.tagline, d.tags INTO NEW.name, NEW.tagline, NEW.tags FROM agent_metadata d
    WHERE d.agent = NEW.address AND d.sha256 = NEW.metadata_hash AND d.error IS NULL;
    RETURN NEW;
END
$$;
CREATE TRIGGER copy_document BEFORE UPDATE ON mirror_agents FOR EACH ROW
    WHEN (OLD.metadata_hash <> NEW.metadata_hash) EXECUTE FUNCTION copy_document();

-- Documents that a process fetches now or has in its queue. A lease that is over belongs to nobody.
CREATE TABLE document_leases (
    agent   text PRIMARY KEY,
    creator text NOT NULL,
    -- document_host(…) of the URI
    host    text NOT NULL,
    holder  uuid NOT NULL,
    until   timestamptz NOT NULL
);

-- Whom a URI asks: the part between `//` and the path, in lower case. All content by its hash comes from one place.
CREATE FUNCTION document_host(uri text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN lower(uri) LIKE 'ipfs:%' THEN 'ipfs'
            ELSE COALESCE(lower(substring(uri FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#]*)')), '') END;

-- Content that a wallet handed in and that nothing refers to yet. The bytes are in the content store. A row is written
-- before its bytes, so a piece without a row is never left behind.
CREATE TABLE held_content (
    wallet  text        NOT NULL,
    sha256  bytea       NOT NULL CHECK (octet_length(sha256) = 32),
    size    bigint      NOT NULL CHECK (size >= 0),
    -- Whether the mirror knew the wallet. Wallets cost nothing, so the unknown ones share a limit.
    known   boolean     NOT NULL,
    held_at timestamptz NOT NULL DEFAULT now(),
    -- Whether a worker saw that a listing refers to the piece. It then leaves the room that all wallets share, because the
    -- listing's collateral pays for it.
    listed  boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (wallet, sha256)
);
CREATE INDEX held_content_by_hash ON held_content (sha256);
CREATE INDEX held_content_by_time ON held_content (held_at);
CREATE INDEX held_content_sizes ON held_content (known) INCLUDE (size) WHERE NOT listed;

-- Files that an evidence document names: who refers to the document refers to them.
CREATE TABLE content_parts (
    whole bytea NOT NULL CHECK (octet_length(whole) = 32),
    part  bytea NOT NULL CHECK (octet_length(part) = 32),
    PRIMARY KEY (whole, part)
);
CREATE INDEX content_parts_by_part ON content_parts (part);

-- Whether the wallet has anything on chain that costs rent.
CREATE FUNCTION is_known_wallet(who text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN EXISTS (SELECT FROM mirror_executions m WHERE m.caller = who)
    OR EXISTS (SELECT FROM mirror_creators m WHERE m.wallet = who)
    OR EXISTS (SELECT FROM mirror_grants m WHERE m.wallet = who)
    OR EXISTS (SELECT FROM mirror_config m WHERE m.resolver = who);

-- Whether what names this hash never names another: a record its result, a dispute its evidence, answer or resolution.
CREATE FUNCTION is_named_on_chain(hash bytea) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
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

-- What becomes of a held piece: 'kept' with the content that stays for ever, 'listed' as long as a listing refers to
-- it, or 'dropped' after its time. A listing's content that is longer than any document is dropped as well.
CREATE FUNCTION content_fate(hash bytea, size bigint, max_listed bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN is_kept_for_ever(hash) THEN 'kept'
            WHEN size <= max_listed AND is_of_listing(hash) THEN 'listed'
            ELSE 'dropped' END;
