// What the wallet button, the sign-in and the state of a transaction say.

export const words = {
    wallet: 'Wallet',
    connect: 'Connect',
} as const;
