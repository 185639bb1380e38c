// A buyer's process, which a test kills: makes calls of which it has the keys, again and again until each has its result.
// Arguments: base URL, agent, RPC URL, and a JSON list of keys. Writes one JSON line for each result.

import { ApiError, Client, VerificationError } from '@crtx/sdk';

const [url, agent, rpcUrl, list] = process.argv.slice(2);
const client = new Client(url, process.env.CRTX_API_KEY, { rpcUrl, bodyTimeoutMs: 300 });
const keys = JSON.parse(list);

/** More than any row of faults needs. */
const MOST_ATTEMPTS = 50;

async function buy(idempotencyKey) {
    for (let attempt = 1; ; attempt += 1) {
        try {
            const { result, execution_id } = await client.execute(agent, `Call ${idempotencyKey}.`, { idempotencyKey });
            return { key: idempotencyKey, result, execution_id };
        } catch (error) {
            const isOver = error instanceof VerificationError || attempt === MOST_ATTEMPTS;
            const ended = [
                'execution_failed',
                'execution_timeout',
                'interrupted',
                'result_unavailable',
                'invalid_request',
            ];
            if (isOver || (error instanceof ApiError && ended.includes(error.code))) {
                return { key: idempotencyKey, error: String(error) };
            }
        }
    }
}

await Promise.all(
    Array.from({ length: 16 }, async () => {
        for (let key = keys.shift(); key !== undefined; key = keys.shift()) console.log(JSON.stringify(await buy(key)));
    }),
);
