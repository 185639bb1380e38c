// How the dashboard is built and served while it is developed. `CRTX_URL` names the service that the development server
// passes API requests on to; `crtx up` is at the default.

import { readFileSync, readdirSync } from 'node:fs';

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

import { compress } from './scripts/compress.mjs';
import { previous } from './scripts/previous.mjs';
import { stamp } from './scripts/stamp.mjs';

const service = process.env['CRTX_URL'] ?? 'http://127.0.0.1:8080';

/** The service accepts changes from its own pages alone, so the page of the development server counts as one. */
const proxied = { target: service, changeOrigin: true, headers: { origin: service } };

/**
 * Test files that have a page, or change what modules, globals or timers are, run each by itself. The others share what they
 * import, which costs more time than their tests.
 */
const changesGlobals = /@vitest-environment|\bvi\./;
const tests = ['tests', 'src'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.test\.tsx?$/.test(file))
        .map((file) => `${folder}/${file}`),
);
const byThemselves = tests.filter((file) => changesGlobals.test(readFileSync(file, 'utf8')));

export default defineConfig({
    plugins: [react(), stamp(), previous(), compress()],
    build: {
        target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
        // Everything that is inlined would need an exception in the content-security-policy.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
        manifest: 'manifest.json',
        rolldownOptions: {
            // A feature's face names what others use of it. Without this, whoever imports the face would load all of that.
            treeshake: { moduleSideEffects: [{ test: /\/src\/features\/\w+\/index\.ts$/, sideEffects: false }] },
            output: {
                // One file for what every page needs. As many small ones, which pages could share, make the first page
                // wait longer: each costs the browser a request.
                codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] },
            },
        },
    },
    server: {
        // The documents that are pages.
        fs: { allow: ['.', '../docs'] },
        proxy: Object.fromEntries(
            ['/v1', '/ipfs', '/local', '/openapi.json', '/healthz', '/readyz'].map((path) => [path, proxied]),
        ),
    },
    test: {
        environment: 'node',
        pool: 'threads',
        projects: [
            { extends: true, test: { name: 'shared', isolate: false, include: tests, exclude: byThemselves } },
            { extends: true, test: { name: 'own', include: byThemselves } },
        ],
    },
});
