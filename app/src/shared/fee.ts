// How a payment is divided between creator and marketplace, as the program divides it (`fee::split`).

const WHOLE_BPS = 10_000n;

/** The program never takes more. */
export const MAX_FEE_BPS = 500;

export type Split = { readonly creator: bigint; readonly platform: bigint };

/** The marketplace's part is rounded down; the creator gets the rest. */
export function splitOf(amount: bigint, feeBps: number): Split {
    const platform = (amount * BigInt(feeBps)) / WHOLE_BPS;
    return { creator: amount - platform, platform };
}

/** The lowest amount whose fee is one base unit. */
export const smallestAmount = (feeBps: number): bigint => (WHOLE_BPS + BigInt(feeBps) - 1n) / BigInt(feeBps);

/** `1.5 %` of 150 basis points. */
export const percentText = (feeBps: number): string => `${feeBps / 100} %`;
