-- What the program keeps beside since roles are announced before they take office and an execution keeps
-- the dispute window it was opened with.

-- No resolver: the last one was removed and no successor is due yet.
ALTER TABLE mirror_config
    ALTER COLUMN resolver DROP NOT NULL,
    ADD COLUMN announced_resolver text,
    ADD COLUMN announced_treasury_owner text,
    -- First second in which the announced roles can be applied; null when none are announced.
    ADD COLUMN roles_apply_from timestamptz,
    -- Rows from before say the beginning of time until they are mirrored again.
    ADD COLUMN resolver_since timestamptz NOT NULL DEFAULT 'epoch';
ALTER TABLE mirror_config ALTER COLUMN resolver_since DROP DEFAULT;

-- Seconds after completion in which the caller may raise a dispute. 72 hours was the window of every row so far.
ALTER TABLE mirror_executions ADD COLUMN dispute_window_s bigint NOT NULL DEFAULT 259200;
ALTER TABLE mirror_executions ALTER COLUMN dispute_window_s DROP DEFAULT;

COMMENT ON COLUMN mirror_disputes.outcome IS '1 open, 2 upheld, 3 rejected, 4 expired';
