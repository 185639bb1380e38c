// The program that this version of the dashboard belongs to:
// `programs/agent-marketplace/artifacts/agent_marketplace.json`. A test compares the two.

export const COMMITTED_PROGRAM = {
    sha256: '649798e5336ca497522a01c0e2f1525269af9605fde5e022c0c1f2e032d90c1f',
    bytes: 522_824,
} as const;
