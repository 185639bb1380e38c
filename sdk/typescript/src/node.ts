// For Node.js: a handler behind `node:http` or Express, and a key from a file.

import { readFileSync } from 'node:fs';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';

import type { Handler } from './agent.js';

/** The text of a key pair's file, as the Solana command line writes it. */
export const keyFile = (file: string | URL): string => readFileSync(file, 'utf8');

/** A request listener of `node:http`, and a handler of Express. */
export function nodeHandler(handler: Handler): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
    return async (request, response) => {
        const read = (maxBytes: number): Promise<string> => bodyOf(request, maxBytes);
        const { status, body } = await handler.reply(request.method ?? 'GET', read);
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(body);
    };
}

async function bodyOf(request: IncomingMessage & { body?: unknown }, maxBytes: number): Promise<string> {
    // A parser in front, such as `express.json()`, has read the body.
    if (request.body !== undefined)
        return typeof request.body === 'string' ? request.body : JSON.stringify(request.body);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) throw new RangeError(`the body is larger than ${maxBytes} bytes`);
        chunks.push(chunk);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
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
