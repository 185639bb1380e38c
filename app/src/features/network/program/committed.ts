// The program that this version of the dashboard belongs to:
// `programs/agent-marketplace/artifacts/agent_marketplace.json`. A test compares the two.

export const COMMITTED_PROGRAM = {
    sha256: 'e0eb05f10f96abbc5796c8bf33bc7d8ee542e815b2291fe0a0b3693cf12b9fad',
    bytes: 575_464,
} as const;
