// What the repository promises of the package: current types, short examples.

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { PROGRAM_ID } from '../src/index.js';
import { root } from './support/network.js';

const sdk = path.resolve(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(path.join(sdk, file), 'utf8');

test('the types of the API are those of its description', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'crtx-sdk-types-'));
    const file = path.join(folder, 'api.ts');
    await promisify(execFile)('node', ['scripts/generate-types.mjs', file], { cwd: sdk });
    // An answer instead of the two texts: their difference has thousands of lines.
    expect(readFileSync(file, 'utf8') === read('src/generated/api.ts'), 'run `npm run generate`').toBe(true);
    rmSync(folder, { recursive: true });
});

test.each([
    ['seller', 8],
    ['image-seller', 8],
    ['buyer', 5],
])('the %s of the examples has at most %i lines', (name, most) => {
    const lines = read(`examples/${name}.ts`)
        .split('\n')
        .filter((line) => line.trim() !== '' && !line.trim().startsWith('//'));
    expect(lines.length).toBeLessThanOrEqual(most);
});

test('the program is the one of the interface', () => {
    const idl = JSON.parse(readFileSync(path.join(root, 'idl/agent_marketplace.json'), 'utf8'));
    expect(PROGRAM_ID).toBe(idl.address);
});

test('a plain buyer or seller loads one package, and nothing of a page', async () => {
    const { dependencies } = JSON.parse(read('package.json'));
    expect(Object.keys(dependencies)).toEqual(['@cfworker/json-schema']);
    const built = read('dist/index.js') + read('dist/client.js') + read('dist/agent.js');
    expect(built).not.toMatch(/\b(window|document|node:fs|node:http)\b/);
    expect(built + read('dist/chain.js') + read('dist/http.js')).not.toMatch(/@solana\/|generated\/program/);
});
