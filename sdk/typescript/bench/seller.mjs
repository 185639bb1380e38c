// What the seller's side adds to a request for a 10 kB result: the same function behind `node:http` alone, and behind the
// handler of this library, one request after the other on one connection. `npm run bench` prints a line of JSON.
//
// REQUESTS sets the number of each (default 3000).

import { createServer, request } from 'node:http';
import { Agent } from 'node:http';

import { agent, signerOf } from '../dist/index.js';
import { nodeHandler } from '../dist/node.js';

const REQUESTS = Number(process.env.REQUESTS ?? 3000);
const WARM_UP = 500;
const RESULT = 'x'.repeat(10_000);

const { privateKey } = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
const { d, x } = await crypto.subtle.exportKey('jwk', privateKey);
const key = await signerOf([...Buffer.from(d, 'base64url'), ...Buffer.from(x, 'base64url')]);

/** Reads the call and answers the result, without anything else. */
const bare = (incoming, response) => {
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
        const { execution_id } = JSON.parse(Buffer.concat(chunks).toString());
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ execution_id, status: 'completed', result: RESULT }));
    });
};

const listen = (listener) =>
    new Promise((resolve) => {
        const server = createServer(listener);
        server.listen(0, '127.0.0.1', () => resolve(server));
    });

const connection = new Agent({ keepAlive: true, maxSockets: 1 });

/** Time of one call, in ms. */
function time(port) {
    const body = JSON.stringify({
        execution_id: crypto.randomUUID(),
        task: 'a task',
        parameters: {},
        user_pubkey: key.address,
        timeout_seconds: 30,
        execution_record: key.address,
        opened_at_unix_s: 1_800_000_000,
    });
    return new Promise((resolve, reject) => {
        const started = performance.now();
        const headers = { 'content-type': 'application/json', 'content-length': body.length };
        const sent = request({ port, method: 'POST', agent: connection, headers }, (response) => {
            response.resume();
            response.on('end', () => resolve(performance.now() - started));
        });
        sent.on('error', reject);
        sent.end(body);
    });
}

const servers = [await listen(bare), await listen(nodeHandler(agent(() => RESULT, { key })))];
const times = [[], []];
// In turns, so that a busy moment of the machine meets both.
for (let at = 0; at < WARM_UP + REQUESTS; at += 1) {
    for (const [which, server] of servers.entries()) {
        const took = await time(server.address().port);
        if (at >= WARM_UP) times[which].push(took);
    }
}
const round = (ms) => Math.round(ms * 1000) / 1000;
const percentile = (list, part) => round(list.toSorted((a, b) => a - b)[Math.floor(list.length * part)]);
const [plain, library] = times.map((list) => ({ p50_ms: percentile(list, 0.5), p99_ms: percentile(list, 0.99) }));
const added = { p50_ms: round(library.p50_ms - plain.p50_ms), p99_ms: round(library.p99_ms - plain.p99_ms) };
console.log(
    JSON.stringify({ node: process.version, requests: REQUESTS, 'node:http': plain, '@crtx/sdk': library, added }),
);
connection.destroy();
for (const server of servers) server.close();
