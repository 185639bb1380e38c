-- What the worker does for the market beside its own calls: it refunds what expired, closes records after their window,
-- ends disputes that nobody decided, and applies what was announced and is due.

-- What was done, what it cost in fees, and the rent that it returned to those who paid it. One row for each day, so
-- that the cost of work for others has a daily limit.
CREATE TABLE housekeeping (
    day            date NOT NULL DEFAULT current_date,
    chore          text NOT NULL CHECK (chore IN ('refund', 'close', 'expire_dispute', 'apply_announcement')),
    -- Whether the rent that was returned is the operator's own.
    own            boolean NOT NULL,
    actions        bigint NOT NULL,
    fees_lamports  bigint NOT NULL,
    rent_lamports  bigint NOT NULL,
    PRIMARY KEY (day, chore, own)
);

-- Records that ended and are not closed, by the time of their end.
CREATE INDEX mirror_executions_ended ON mirror_executions (finished_at, address)
    WHERE closed_at_slot IS NULL AND finished_at IS NOT NULL AND status <> record_status('disputed');
-- Open records by their deadline.
CREATE INDEX mirror_executions_overdue ON mirror_executions (deadline_at, address)
    WHERE closed_at_slot IS NULL AND status = record_status('open');
-- Disputes that nobody has decided.
CREATE INDEX mirror_disputes_undecided ON mirror_disputes (raised_at, address)
    WHERE closed_at_slot IS NULL AND resolved_at IS NULL;
