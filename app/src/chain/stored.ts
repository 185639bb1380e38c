// The numbers that the program's accounts store for states and outcomes. The IDL does not name them: there the
// fields are plain numbers, and the enums of the instructions' arguments (`AgentStatus`, `FailureReason`) count
// from 0, so they must not be compared with what an account holds. Checked against tests/vectors/stored.json.

/** `AgentListed.status`. */
export const StoredAgentStatus = { Active: 1, Paused: 2, Delisted: 3 } as const;

/** `ExecutionRecord.status`. */
export const StoredExecutionStatus = {
    Open: 1,
    Completed: 2,
    Failed: 3,
    Expired: 4,
    Disputed: 5,
    Overturned: 6,
} as const;

/** `ExecutionRecord.failureReason`; 0 unless failed or expired. */
export const StoredFailureReason = {
    CreatorFailed: 1,
    Timeout: 2,
    InvalidResponse: 3,
    Expired: 4,
    Interrupted: 5,
} as const;

/** `ExecutionRecord.settledBy`; 0 unless completed. */
export const StoredSettler = { Caller: 1, Creator: 2, Gateway: 3 } as const;

/** `Dispute.outcome`. */
export const StoredDisputeOutcome = {
    Open: 1,
    Upheld: 2,
    Rejected: 3,
    Expired: 4,
    Cancelled: 5,
    Abusive: 6,
} as const;
