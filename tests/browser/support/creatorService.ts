// A creator's service as `crtx agent init` writes it, started with a key file that a page has saved; and one that answers
// with any bytes.

import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Download, Page } from 'playwright-core';

const template = path.resolve(import.meta.dirname, '../../../cli/src/agent/template/service.mjs');

export type Service = { readonly endpoint: string; readonly stop: () => Promise<void> };

/** Counts the words of a task; `max_words` makes it refuse. */
export async function startService(keyFile: string): Promise<Service> {
    const child = spawn(process.execPath, [template], { env: { ...process.env, PORT: '0', RESULT_KEY: keyFile }, stdio: ['ignore', 'pipe', 'inherit'] });
    const endpoint = await endpointOf(child);
    const stop = async (): Promise<void> => {
        if (child.exitCode !== null) return;
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill();
        await ended;
    };
    return { endpoint, stop };
}

/** Where a service listens, once it says so. */
export async function endpointOf(child: ChildProcess): Promise<string> {
    if (child.stdout === null) throw new Error('The output is piped.');
    for await (const line of createInterface({ input: child.stdout })) {
        const found = /http:\/\/\S+\/execute/.exec(line)?.[0];
        if (found !== undefined) return found;
    }
    throw new Error('The service ended before it was ready.');
}

/** Answers every request with this text. */
export async function startLiar(answer: string): Promise<Service> {
    const server = createServer((request, response) => {
        request.resume();
        request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { endpoint: `http://127.0.0.1:${port}/execute`, stop: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** The file that a press makes the page save. */
export async function savedFile(page: Page, press: () => Promise<void>, folder: string): Promise<string> {
    const [download] = await Promise.all([page.waitForEvent('download') as Promise<Download>, press()]);
    const file = path.join(folder, download.suggestedFilename());
    await download.saveAs(file);
    return file;
}
