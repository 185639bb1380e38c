// The program that this version of the dashboard belongs to:
// `programs/agent-marketplace/artifacts/agent_marketplace.json`. A test compares the two.

export const COMMITTED_PROGRAM = {
    sha256: '55f78ce9ddb998106a4b2aa8600568c819d8a3d36b57c928ea85284683b612ec',
    bytes: 499_424,
} as const;
