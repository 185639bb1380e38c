-- Fair fetching of metadata documents, and why a listing is not shown.

ALTER TABLE agent_metadata
    -- Which kind of failure `error` is; null with a document.
    ADD COLUMN error_code   text CHECK (error_code IN ('document_unavailable', 'document_mismatch', 'document_invalid')),
    ADD COLUMN last_attempt timestamptz,
    ADD CHECK (error_code IS NULL OR error IS NOT NULL);

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
