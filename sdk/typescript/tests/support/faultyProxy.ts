// A proxy between a buyer and the service, with a fault for every second request: a call is cut before, during or after its answer, is
// answered 202, 409, 429, 503 or 502, or its bytes stop.

import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const FAULTS = ['none', 'before', 'during', 'after', '202', '409', '429', '503', '502', 'slow'] as const;
export type Fault = (typeof FAULTS)[number];

export type Proxy = { readonly url: string; readonly counts: Map<Fault, number>; readonly close: () => void };

/** The same numbers for the same seed: the generator `mulberry32`. */
export function randomOf(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
        state = (state + 0x6d2b79f5) | 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
    };
}

export async function startProxy(target: string, random: (below: number) => number): Promise<Proxy> {
    const counts = new Map<Fault, number>();
    // Every fault comes once before one comes again.
    const deck: Fault[] = [];
    let isFaulty = false;
    const server = createServer((request, response) => {
        isFaulty = !isFaulty;
        if (deck.length === 0) deck.push(...FAULTS);
        const fault = isFaulty ? (deck.splice(random(deck.length), 1)[0] ?? 'none') : 'none';
        counts.set(fault, (counts.get(fault) ?? 0) + 1);
        answer(target, fault, request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const close = (): void => {
        server.closeAllConnections();
        server.close();
    };
    return { url: `http://127.0.0.1:${port}`, counts, close };
}

const CODES: Partial<Record<Fault, string>> = { '409': 'conflict', '429': 'rate_limited', '503': 'unavailable' };

async function answer(target: string, fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const code = CODES[fault];
    if (fault === 'before') return void response.destroy();
    if (fault === '502') return void response.writeHead(502).end('<html>bad gateway</html>');
    if (code !== undefined) {
        const error = { code, message: 'a fault', execution_id: null };
        response.writeHead(Number(fault), { 'retry-after': '0' }).end(JSON.stringify({ error }));
        return;
    }
    const { authorization = '', 'idempotency-key': key } = request.headers;
    const sent = await fetch(target + (request.url ?? ''), {
        method: request.method ?? 'GET',
        headers: {
            authorization,
            'content-type': 'application/json',
            ...(key ? { 'idempotency-key': String(key) } : {}),
        },
        ...(request.method === 'POST' ? { body: Buffer.concat(chunks) } : {}),
    });
    const text = await sent.text();
    const passed = ['content-type', 'retry-after', 'x-should-retry'].flatMap((name) => {
        const value = sent.headers.get(name);
        return value === null ? [] : [[name, value] as const];
    });
    const head = { ...Object.fromEntries(passed), 'content-length': Buffer.byteLength(text) };
    if (fault === 'after') return void response.destroy();
    if (fault === 'during' || fault === 'slow') {
        response.writeHead(sent.status, head).write(text.slice(0, text.length / 2));
        if (fault === 'during') setTimeout(() => response.destroy(), 5);
        return;
    }
    if (fault === '202' && request.method === 'POST' && sent.status === 200) {
        const { execution_id } = JSON.parse(text) as { execution_id: string };
        return void response.writeHead(202).end(JSON.stringify({ execution_id, status: 'running' }));
    }
    response.writeHead(sent.status, head).end(text);
}
