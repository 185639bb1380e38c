// Puts the Brotli form of each text file of a build next to it; a plugin of vite.config.ts. The service sends it to the
// browsers that take it. Assets of the version before keep theirs.

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const TEXT = /\.(?:html|js|css|svg|json)$/;

function compressed(file) {
    const bytes = readFileSync(file);
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    return brotliCompressSync(bytes, { params });
}

/** Writes `NAME.br` for the files below `folder` that have none and become smaller. */
export function compressFolder(folder) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        const file = path.join(folder, name);
        if (!TEXT.test(name) || name === 'manifest.json' || existsSync(`${file}.br`)) continue;
        const brotli = compressed(file);
        if (brotli.length < statSync(file).size) writeFileSync(`${file}.br`, brotli);
    }
}

/** For `vite.config.ts`: compresses the build when it is complete. */
export const compress = () => ({
    name: 'compress',
    apply: 'build',
    writeBundle({ dir }) {
        compressFolder(dir);
    },
});
