// Copies the program's client, which `app/scripts/generate-client.mjs` makes from the IDL, with the names of files that
// Node.js needs in its imports: `node scripts/generate-program.mjs [FOLDER]`.

import { cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../../app/src/generated', import.meta.url));
const folder = process.argv[2] ?? fileURLToPath(new URL('../src/generated/program', import.meta.url));

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
