// What a transaction costs in SOL: a fixed fee for each signature that the chain checks, and a priority fee, which the
// compute limit and its price make. Every page that names the network fee takes it from here.

import { solText } from '../shared/money';

const LAMPORTS_PER_SIGNATURE = 5_000n;
const MICRO_LAMPORTS = 1_000_000n;

/** The most that a transaction pays for priority, whether the dashboard or the wallet sets it. */
export const MAX_PRIORITY_FEE = 500_000n;
/** The most compute units that a transaction can have. */
export const MAX_UNITS = 1_400_000;

export type Charged = {
    /** Accounts that sign. */
    readonly signers?: number;
    /** Signatures that a signature program of the chain checks, such as the proof of a result. */
    readonly proofs?: number;
    /** Compute limit, and micro-lamports for each unit of it. */
    readonly units?: number;
    readonly price?: bigint;
};

/** Lamports that the fee payer pays, whatever the transaction does. */
export const networkFee = ({ signers = 1, proofs = 0, units = 0, price = 0n }: Charged): bigint =>
    LAMPORTS_PER_SIGNATURE * BigInt(signers + proofs) + priorityFee(units, price);

/** The priority fee of a compute limit. Rounded up, as the chain does. */
export const priorityFee = (units: number, price: bigint): bigint =>
    (BigInt(units) * price + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS;

/** The highest price of a unit whose priority fee stays within the limit. */
export const highestPrice = (units: number): bigint => (MAX_PRIORITY_FEE * MICRO_LAMPORTS) / BigInt(units);

/** What a transaction of one wallet costs, before the network was asked: `0.000005 to 0.000505 SOL`. */
export const feeText = (proofs = 0): string => {
    const least = networkFee({ proofs });
    return `${solText(least)} to ${solText(least + MAX_PRIORITY_FEE)} SOL`;
};
