// Which assets of the version before a build keeps.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { previousAssets } from '../scripts/previous.mjs';

let app: string;

beforeEach(() => {
    app = mkdtempSync(path.join(tmpdir(), 'crtx-previous-'));
});
afterEach(() => rmSync(app, { recursive: true }));

const git = (...words: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example', ...words], {
        cwd: app,
        stdio: 'ignore',
    });

/** A build of sources with that stamp. */
function write(stamp: string, files: Record<string, string>): void {
    rmSync(path.join(app, 'dist'), { recursive: true, force: true });
    for (const [name, text] of Object.entries({ 'sources.sha256': `${stamp}\n`, 'index.html': stamp, ...files })) {
        mkdirSync(path.dirname(path.join(app, 'dist', name)), { recursive: true });
        writeFileSync(path.join(app, 'dist', name), text);
    }
}

function commit(): void {
    git('add', '-A');
    git('commit', '-qm', 'build');
}

const kept = (stamp: string, base?: string): Record<string, string> =>
    Object.fromEntries(
        [...previousAssets({ app, stamp, ...(base !== undefined && { base }) })].map(([name, bytes]) => [
            name,
            bytes.toString(),
        ]),
    );

test('a build of other sources keeps the assets of the committed one, and not those that it had kept', () => {
    git('init', '-q');
    write('one', { 'assets/a-1.js': 'one', 'previous/a-0.js': 'zero' });
    commit();
    // What is built while someone works is no version.
    write('half', { 'assets/a-h.js': 'half' });
    expect(kept('two')).toEqual({ 'a-1.js': 'one' });
});

test('a build of the committed sources is the same build again', () => {
    git('init', '-q');
    write('two', { 'assets/a-2.js': 'two', 'previous/a-1.js': 'one' });
    commit();
    expect(kept('two')).toEqual({ 'a-1.js': 'one' });
});

test('a deployment names the commit whose version it replaces', () => {
    git('init', '-q');
    write('one', { 'assets/a-1.js': 'one' });
    commit();
    git('tag', 'deployed');
    write('two', { 'assets/a-2.js': 'two', 'previous/a-1.js': 'one' });
    commit();
    expect(kept('three', 'deployed')).toEqual({ 'a-1.js': 'one' });
    expect(kept('two', 'deployed')).toEqual({ 'a-1.js': 'one' });
    expect(() => kept('three', 'nothing')).toThrow(/nothing has no build/);
});

test('sources without their history have the build that is beside them', () => {
    write('one', { 'assets/a-1.js': 'one', 'previous/a-0.js': 'zero' });
    expect(kept('two')).toEqual({ 'a-1.js': 'one' });
    expect(kept('one')).toEqual({ 'a-0.js': 'zero' });
    rmSync(path.join(app, 'dist'), { recursive: true });
    expect(kept('one')).toEqual({});
});
