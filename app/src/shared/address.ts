// The form of a Solana address in a URL.

const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** Whether a text has the form of an address. */
export const isAddress = (text: string): boolean => ADDRESS.test(text);
