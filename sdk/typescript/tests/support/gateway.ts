// A service that answers as a test wants, and counts what it charges: once for each idempotency key, as the chain does.

import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Client, type ClientOptions, cidOf, resultHash } from '../../src/index.js';

export type Step = (answer: () => string, response: ServerResponse, request: IncomingMessage) => void;

export type Gateway = {
    readonly client: (options?: ClientOptions) => Client;
    /** What to do with the next calls; after the last step they are answered. */
    readonly steps: Step[];
    /** Idempotency keys, in the order of the calls that came. */
    readonly keys: string[];
    readonly charged: Set<string>;
    /** What `GET /v1/executions/{id}` says, in order; the last one stays. */
    readonly records: object[];
    readonly server: Server;
};

export const ID = 'ba87ad6d-0786-583e-889f-ad17558125f5';
export const AGENT = 'GWdBVAYS92PJ4dJUAriARh9HPvs7FKx3pK51V3f5NL7Q';
const KEY = 'crtx_test_FQYve7fby21hhdNDyGBEFG6F2RQ7ZCREY5189uxKBoqk';

export async function answerOf(result: string): Promise<Record<string, unknown>> {
    const hash = await resultHash(result);
    return {
        execution_id: ID,
        status: 'completed',
        result,
        result_hash: hash,
        cost_usdc: 0.01,
        execution_time_ms: 5,
        on_chain_record: 'https://explorer.solana.com/address/5CwZw1iWCxJc1jMi2RST8QS9fUvF78ZoyKDdvbuV5bsy',
        ipfs_url: `http://127.0.0.1/ipfs/${cidOf(hash)}`,
    };
}

export async function startGateway(): Promise<Gateway> {
    const [steps, keys, charged, records]: [Step[], string[], Set<string>, object[]] = [[], [], new Set(), []];
    const good = JSON.stringify(await answerOf('a result'));
    const server = createServer((request, response) => {
        request.resume();
        request.on('end', () => {
            response.setHeader('content-type', 'application/json');
            if (request.method === 'GET') {
                const record = records.length > 1 ? records.shift() : records[0];
                response.end(JSON.stringify(record ?? {}));
                return;
            }
            const key = String(request.headers['idempotency-key']);
            keys.push(key);
            const answer = (): string => {
                charged.add(key);
                return good;
            };
            const step = steps.shift() ?? ((answer, response) => response.end(answer()));
            step(answer, response, request);
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = (options: ClientOptions = {}): Client =>
        new Client(`http://127.0.0.1:${port}`, KEY, { verify: 'content', ...options });
    return { client, steps, keys, charged, records, server };
}

/** An error as the service answers it. */
export const refuse =
    (status: number, code: string | null, headers: Record<string, string> = {}, id: string | null = null): Step =>
    (_answer, response) => {
        const body = code === null ? '<html>' : JSON.stringify({ error: { code, message: 'so', execution_id: id } });
        response.writeHead(status, headers).end(body);
    };
