// For Node.js: a handler behind `node:http` or Express, and a key from a file.

import { readFileSync } from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';

import type { Handler } from './agent.js';

/** The text of a key pair's file, as the Solana command line writes it. */
export const keyFile = (file: string | URL): string => readFileSync(file, 'utf8');

/** A request listener of `node:http`, and a handler of Express. */
export function nodeHandler(handler: Handler): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
    return async (request, response) => {
        const answer = await handler(requestOf(request));
        const body = await answer.text();
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.end(body);
    };
}

function requestOf(request: IncomingMessage & { body?: unknown }): Request {
    const { method = 'GET', body: parsed } = request;
    const url = 'http://localhost/';
    if (method === 'GET' || method === 'HEAD') return new Request(url, { method });
    // A parser in front, such as `express.json()`, has read the body.
    if (parsed !== undefined)
        return new Request(url, { method, body: typeof parsed === 'string' ? parsed : JSON.stringify(parsed) });
    return new Request(url, { method, body: request, duplex: 'half' });
}

/** Answers calls on a port. Resolves when it listens. */
export const serve = (
    handler: Handler,
    { port = 8090, host = '127.0.0.1' }: { port?: number; host?: string } = {},
): Promise<Server> =>
    new Promise((resolve, reject) => {
        const listener = nodeHandler(handler);
        const server = createServer((request, response) => {
            listener(request, response).catch(() => response.destroy());
        });
        server.once('error', reject);
        server.listen(port, host, () => resolve(server));
    });
