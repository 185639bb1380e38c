-- What keeps the mirror true while nodes misbehave: the hash of each account's bytes, the accounts at the finalized
-- state with their digest, and the indexer's processes.

-- BLAKE3 of the account's bytes; null in rows of the version before. A row is written only if its revision or this hash
-- differs. `after_slot`: an earlier life of the account was closed, or a state of it was dropped with a fork, at that
-- slot; states that were read at that slot or before belong to what is gone.
ALTER TABLE mirror_config
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32), ADD COLUMN after_slot bigint;
ALTER TABLE mirror_creators
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32), ADD COLUMN after_slot bigint;
ALTER TABLE mirror_agents
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32), ADD COLUMN after_slot bigint;
ALTER TABLE mirror_executions
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32), ADD COLUMN after_slot bigint;
ALTER TABLE mirror_disputes
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32), ADD COLUMN after_slot bigint;
ALTER TABLE mirror_grants
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32), ADD COLUMN after_slot bigint;
ALTER TABLE mirror_quarantine
    ADD COLUMN data_hash bytea CHECK (octet_length(data_hash) = 32);

-- What the mirror shows of each account, whatever its kind.
CREATE VIEW mirror_states AS
SELECT address, data_hash, closed_at_slot FROM mirror_config
UNION ALL SELECT address, data_hash, closed_at_slot FROM mirror_creators
UNION ALL SELECT address, data_hash, closed_at_slot FROM mirror_agents
UNION ALL SELECT address, data_hash, closed_at_slot FROM mirror_executions
UNION ALL SELECT address, data_hash, closed_at_slot FROM mirror_disputes
UNION ALL SELECT address, data_hash, closed_at_slot FROM mirror_grants
UNION ALL SELECT address, data_hash, NULL FROM mirror_quarantine;

-- The program's accounts at the finalized state. `data_hash` is null if the account is gone, or was known before this
-- table existed and is not read yet. An account without a row was never finalized.
CREATE TABLE mirror_final_accounts (
    address   text PRIMARY KEY,
    slot      bigint NOT NULL,
    data_hash bytea CHECK (octet_length(data_hash) = 32)
) WITH (fillfactor = 80);
INSERT INTO mirror_final_accounts (address, slot) SELECT address, slot FROM mirror_accounts;

-- The digest of the accounts in `mirror_final_accounts` whose hash is not null.
CREATE TABLE mirror_digest (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    -- The finalized slot that it shows; null while the table is filled or repaired.
    slot     bigint,
    accounts bigint NOT NULL,
    lattice  bytea NOT NULL CHECK (octet_length(lattice) = 2048),
    checksum bytea NOT NULL CHECK (octet_length(checksum) = 32)
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
    problems       jsonb NOT NULL DEFAULT '[]'
);
