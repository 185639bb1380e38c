// The program that this version of the dashboard belongs to:
// `programs/agent-marketplace/artifacts/agent_marketplace.json`. A test compares the two.

export const COMMITTED_PROGRAM = {
    sha256: 'ac8635e5cb4a7f58869a7a7483f09af34f7c64a44c12833d752a690707b15169',
    bytes: 572_056,
} as const;
