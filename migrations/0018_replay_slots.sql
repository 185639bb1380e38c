-- How many of the newest slots the server that a process follows sends again after a break.
ALTER TABLE indexer_processes ADD COLUMN replay_slots bigint CHECK (replay_slots >= 0);
