// Writes into a build of the dashboard which sources it was made from; a plugin of vite.config.ts.
// crates/dashboard/build/sources.rs computes the same hash.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const app = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const PATHS = [
    'src',
    'public',
    'index.html',
    'vite.config.ts',
    'tsconfig.json',
    'package.json',
    'package-lock.json',
    // Pages of the documentation.
    '../docs/quickstart-buy.md',
    '../docs/quickstart-sell.md',
    '../docs/verify.md',
    '../docs/limits.md',
    '../docs/errors.md',
];

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

const filesOf = (name) =>
    statSync(path.join(app, name)).isDirectory()
        ? readdirSync(path.join(app, name)).flatMap((entry) => filesOf(`${name}/${entry}`))
        : [name];

/** The hash of the sources as they are now. */
export function hashOfSources() {
    const names = PATHS.flatMap(filesOf).sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    return sha256(names.map((name) => `${name} ${sha256(readFileSync(path.join(app, name)))}\n`).join(''));
}

/** For `vite.config.ts`: stamps the build when it is complete. */
export const stamp = () => ({
    name: 'stamp',
    apply: 'build',
    generateBundle() {
        this.emitFile({ type: 'asset', fileName: 'sources.sha256', source: `${hashOfSources()}\n` });
    },
});
