// Measures what a browser loads before it shows the first page: `node scripts/check-size.mjs [FOLDER]`. Fails above the
// limit. What routes load on demand does not count.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const LIMIT_KIB = 150;

const app = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const dist = process.argv[2] ?? path.join(app, 'dist');

/** Scripts that the page names, and what they import at once. */
function initialScripts(folder) {
    const manifest = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
    const wanted = Object.values(manifest).filter((chunk) => chunk.isEntry);
    const found = new Set();
    for (let chunk = wanted.pop(); chunk !== undefined; chunk = wanted.pop()) {
        if (found.has(chunk.file)) continue;
        found.add(chunk.file);
        wanted.push(...(chunk.imports ?? []).map((name) => manifest[name]));
    }
    return [...found, 'first.js'];
}

const sizes = initialScripts(dist).map((file) => [file, gzipSync(readFileSync(path.join(dist, file))).length]);
const total = sizes.reduce((sum, [, size]) => sum + size, 0) / 1024;
for (const [file, size] of sizes) console.log(`${(size / 1024).toFixed(1).padStart(7)} KiB  ${file}`);
console.log(`${total.toFixed(1).padStart(7)} KiB  initial JavaScript, gzipped (limit ${LIMIT_KIB} KiB)`);
if (total > LIMIT_KIB) process.exit(1);
