// What the trust of an agent is, in words ("Trust" in docs/specification.md).

export const TRUST =
    'Trust is the sum of the fees that callers paid for results that stand: at most 0.10 USDC for one call and 1 USDC for one wallet. Wallets of the marketplace itself do not count.';
