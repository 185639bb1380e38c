-- The accounts at the finalized state with their digest, and the indexer's processes. The digest shows only slots that the
-- leading process has proved itself.

-- The program's accounts at the finalized state. `data_hash` is null if the account is gone. An account without a row was
-- never finalized.
CREATE TABLE mirror_final_accounts (
    address   text PRIMARY KEY,
    slot      bigint NOT NULL,
    data_hash bytea CHECK (octet_length(data_hash) = 32)
) WITH (fillfactor = 80);

-- The digest of the accounts in `mirror_final_accounts` whose hash is not null.
CREATE TABLE mirror_digest (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- The finalized slot that it shows; null while the table is filled or repaired.
    slot     bigint,
    accounts bigint NOT NULL,
    lattice  bytea NOT NULL CHECK (octet_length(lattice) = 2048),
    checksum bytea NOT NULL CHECK (octet_length(checksum) = 32),
    -- The process that read the accounts of `mirror_final_accounts` as a whole. Another one changes nothing.
    filled_by uuid
);

-- The digests before. Each is the one of all slots from `slot` to `through`; the newest has no `through`: it is the
-- one of all slots up to that of `mirror_digest`.
CREATE TABLE mirror_digest_history (
    slot     bigint PRIMARY KEY,
    through  bigint,
    accounts bigint NOT NULL,
    checksum bytea NOT NULL CHECK (octet_length(checksum) = 32)
);

-- The indexer's processes, each with its own sign of life. One of them leads and writes the mirror.
CREATE TABLE indexer_processes (
    id             uuid PRIMARY KEY,
    started_at     timestamptz NOT NULL DEFAULT now(),
    at             timestamptz NOT NULL DEFAULT now(),
    leads          boolean NOT NULL,
    -- The endpoint that it follows, without secrets.
    source         text NOT NULL,
    streaming      boolean NOT NULL,
    chain_slot     bigint,
    finalized_slot bigint,
    last_event_at  timestamptz,
    last_change_at timestamptz,
    -- A list of {"code", "message"}.
    problems       jsonb NOT NULL DEFAULT '[]',
    -- Its last sign of life as the one that leads and knows the chain's slot.
    led_at         timestamptz,
    stopped        boolean NOT NULL DEFAULT false
);

CREATE TABLE indexer_audit (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    report   jsonb NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);
