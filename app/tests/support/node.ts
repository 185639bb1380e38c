// An RPC node of a few answers, in the place of the network.

import { vi } from 'vitest';

export type Answers = Record<string, (params: never) => unknown>;

export const BLOCKHASH = {
    value: { blockhash: '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', lastValidBlockHeight: 10 },
};
export const fine = () => ({ value: { err: null, logs: [], unitsConsumed: 30_000 } });

/** Of a transaction that is confirmed at once. */
export const GOOD: Answers = {
    getLatestBlockhash: () => BLOCKHASH,
    simulateTransaction: fine,
    sendTransaction: () => 'x',
    getBlockHeight: () => 1,
    getSignatureStatuses: () => ({ value: [{ err: null, confirmationStatus: 'confirmed' }] }),
};

/** The methods that are asked for, in their order. What has no answer here is an error of the node. */
export function node(answers: Answers): string[] {
    const calls: string[] = [];
    vi.stubGlobal('fetch', async (_url: string, { body }: { body: string }) => {
        const { id, method, params } = JSON.parse(body) as { id: string; method: string; params: never };
        calls.push(method);
        const answer = answers[method];
        const error = { code: -32_601, message: 'Method not found' };
        return new Response(
            JSON.stringify({ jsonrpc: '2.0', id, ...(answer === undefined ? { error } : { result: answer(params) }) }),
        );
    });
    return calls;
}
