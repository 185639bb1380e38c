// Pages of a build that the program does not contain: `CRTX_PAGES=../../app/dist` tests what `npm run build` has just
// written, without building the program again. The headers are those of the program.

import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { BrowserContext } from 'playwright-core';

/** What the service answers itself. */
const SERVICE = /^\/(v1|ipfs|local|openapi\.json|healthz|readyz|metrics)(\/|$)/;

const TYPES: Record<string, string> = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
    '.json': 'application/json',
    '.txt': 'text/plain; charset=utf-8',
    '.woff2': 'font/woff2',
};

export type BuiltFile = { readonly body: Buffer; readonly headers: Record<string, string> };

/** A file of a build, by the path of a request; every page is `index.html`. `null`: the service answers itself. */
export function builtFile(folder: string, pathname: string): { body: Buffer; type: string } | null {
    if (SERVICE.test(pathname)) return null;
    const asked = path.join(folder, path.normalize(pathname));
    const file = existsSync(asked) && statSync(asked).isFile() ? asked : path.join(folder, 'index.html');
    return { body: readFileSync(file), type: TYPES[path.extname(file)] ?? 'application/octet-stream' };
}

/** What the program would answer with this build, by the path; `null`: the service answers itself. */
export async function builtFiles(baseUrl: string, folder: string): Promise<(pathname: string) => BuiltFile | null> {
    const headers = Object.fromEntries((await fetch(baseUrl)).headers);
    for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'transfer-encoding']) delete headers[name];
    return (pathname) => {
        const file = builtFile(folder, pathname);
        return file && { body: file.body, headers: { ...headers, 'content-type': file.type } };
    };
}

export async function serveBuilt(context: BrowserContext, baseUrl: string, folder: string): Promise<void> {
    const fileAt = await builtFiles(baseUrl, folder);
    await context.route(
        (url) => url.origin === new URL(baseUrl).origin && !SERVICE.test(url.pathname),
        (route) => {
            const file = fileAt(new URL(route.request().url()).pathname);
            return file === null ? route.fallback() : route.fulfill(file);
        },
    );
}
