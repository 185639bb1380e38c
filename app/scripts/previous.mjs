// Keeps the assets of the build before in the folder `previous` of a new build; a plugin of vite.config.ts. The service
// serves them under their old names, so that a page that was open when a new version was deployed still gets its parts.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { hashOfSources } from './stamp.mjs';

const FOLDER = 'previous/';
const ASSETS = 'assets/';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** The build that a commit has: the names of its files, and how to read them. `null` without Git or without a build. */
function committed(app, commit) {
    const git = (...words) =>
        execFileSync('git', words, { cwd: app, maxBuffer: 2 ** 28, stdio: ['ignore', 'pipe', 'ignore'] });
    try {
        const names = git('ls-tree', '-r', '-z', '--name-only', commit, 'dist/').toString().split('\0').filter(Boolean);
        if (names.length === 0) return null;
        return {
            names: names.map((name) => name.slice('dist/'.length)),
            read: (name) => git('show', `${commit}:./dist/${name}`),
        };
    } catch {
        return null;
    }
}

/** The build in the working tree, for sources that were unpacked without their history. */
function onDisk(app) {
    const dist = path.join(app, 'dist');
    const names = existsSync(dist)
        ? readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
        : [];
    const paths = names.map((entry) =>
        path.relative(dist, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'),
    );
    return { names: paths, read: (name) => readFileSync(path.join(dist, name)) };
}

/**
 * The assets of the version before, by name. A build of the sources that the committed one is of keeps what that one
 * keeps, so it is the same build again. `base`: a commit whose build is the version before, for example the deployed one.
 */
export function previousAssets({ app = here, base = process.env['CRTX_PREVIOUS'], stamp = hashOfSources() } = {}) {
    if (base !== undefined && committed(app, base) === null)
        throw new Error(`CRTX_PREVIOUS: ${base} has no build in app/dist.`);
    const { names, read } = committed(app, base ?? 'HEAD') ?? onDisk(app);
    const isSame =
        base === undefined && names.includes('sources.sha256') && read('sources.sha256').toString().trim() === stamp;
    const prefix = isSame ? FOLDER : ASSETS;
    return new Map(
        names.filter((name) => name.startsWith(prefix)).map((name) => [name.slice(prefix.length), read(name)]),
    );
}

/** For `vite.config.ts`. */
export function previous() {
    let kept = new Map();
    return {
        name: 'previous',
        apply: 'build',
        // Before the folder of the build is emptied.
        buildStart() {
            kept = previousAssets();
        },
        generateBundle: {
            order: 'post',
            handler(_options, bundle) {
                for (const [name, source] of kept) {
                    if (!(ASSETS + name in bundle)) this.emitFile({ type: 'asset', fileName: FOLDER + name, source });
                }
            },
        },
    };
}
