// The program that this version of the dashboard belongs to:
// `programs/agent-marketplace/artifacts/agent_marketplace.json`. A test compares the two.

export const COMMITTED_PROGRAM = {
    sha256: 'a69764ea3fa9139ba0de4d91fb932b36faf4b4097b3e62ce8e3536cd75473695',
    bytes: 575_464,
} as const;
