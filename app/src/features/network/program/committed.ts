// The program that this version of the dashboard belongs to:
// `programs/agent-marketplace/artifacts/agent_marketplace.json`. A test compares the two.

export const COMMITTED_PROGRAM = {
    sha256: '8608c06e160abe9fdf8e63199bc7800f901267f284f262741e995379f72e877e',
    bytes: 495_944,
} as const;
