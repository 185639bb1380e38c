// Copies the program's client, which `app/scripts/generate-client.mjs` makes from the IDL, with the names of files that
// Node.js needs in its imports. A part of `npm run build`, so the repository has the client once.

import { cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../../app/src/generated', import.meta.url));
const folder = fileURLToPath(new URL('../src/generated/program', import.meta.url));

rmSync(folder, { recursive: true, force: true });
cpSync(source, folder, { recursive: true });
for (const name of readdirSync(folder, { recursive: true })) {
    const file = path.join(folder, name);
    if (!name.endsWith('.ts')) continue;
    const written = readFileSync(file, 'utf8').replace(/ from "(\.[^"]*)"/g, (_, imported) => {
        const target = path.join(path.dirname(file), imported);
        const isFolder = statSync(target, { throwIfNoEntry: false })?.isDirectory() === true;
        return ` from "${imported}${isFolder ? '/index' : ''}.js"`;
    });
    writeFileSync(file, written);
}
