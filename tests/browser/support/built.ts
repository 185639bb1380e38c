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

export async function serveBuilt(context: BrowserContext, baseUrl: string, folder: string): Promise<void> {
    const headers = Object.fromEntries((await fetch(baseUrl)).headers);
    for (const name of ['content-length', 'content-encoding', 'content-type', 'etag', 'transfer-encoding']) delete headers[name];
    await context.route(
        (url) => url.origin === new URL(baseUrl).origin && !SERVICE.test(url.pathname),
        (route) => {
            const asked = path.join(folder, path.normalize(new URL(route.request().url()).pathname));
            const file = existsSync(asked) && statSync(asked).isFile() ? asked : path.join(folder, 'index.html');
            const contentType = TYPES[path.extname(file)] ?? 'application/octet-stream';
            return route.fulfill({ body: readFileSync(file), headers: { ...headers, 'content-type': contentType } });
        },
    );
}
