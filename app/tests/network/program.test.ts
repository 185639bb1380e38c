// The hash of the deployed program: the committed file in an account as the loader keeps it.

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { type Address, address, getAddressEncoder } from '@solana/kit';
import { expect, test } from 'vitest';

import { COMMITTED_PROGRAM } from '../../src/features/network/program/committed';
import { readDeployment, readProgram } from '../../src/features/network/program/read';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS as PROGRAM } from '../../src/generated/programs';

const artifacts = path.resolve(import.meta.dirname, '../../../programs/agent-marketplace/artifacts');
const elf = new Uint8Array(readFileSync(path.join(artifacts, 'agent_marketplace.so')));
const LOADER: Address = address('BPFLoaderUpgradeab1e11111111111111111111111');
const DATA = address('2Y4ftVeWi6YAiFhjXAFjY1HCzizyv1t6HtJMCHTESzVR');
const AUTHORITY = address('XizRH5tm3eu4MzALzwwAX2USgy3mD43FY1jgz6JQVjh');

const bytesOf = (key: Address): number[] => [...getAddressEncoder().encode(key)];

/** A node that has the program with this code. */
function node(
    code: Uint8Array,
    { owner = LOADER, hasAuthority = true }: { owner?: Address; hasAuthority?: boolean } = {},
) {
    const accounts: Record<string, Uint8Array> = {
        [PROGRAM]: Uint8Array.from([2, 0, 0, 0, ...bytesOf(DATA)]),
        [DATA]: Uint8Array.from([
            3,
            0,
            0,
            0,
            7,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            hasAuthority ? 1 : 0,
            ...bytesOf(AUTHORITY),
            ...code,
        ]),
    };
    return async (addresses: readonly Address[]) =>
        addresses.map((key) => (accounts[key] === undefined ? null : { owner, data: accounts[key], lamports: 1n }));
}

test('the dashboard belongs to the committed program', () => {
    const { sha256, bytes } = JSON.parse(
        readFileSync(path.join(artifacts, 'agent_marketplace.json'), 'utf8'),
    ) as typeof COMMITTED_PROGRAM;
    // After a new build of the program: copy both into src/features/network/program/committed.ts.
    expect(COMMITTED_PROGRAM).toEqual({ sha256, bytes });
    expect(elf.length).toBe(bytes);
});

test.each([0, 1, 10_000])('the committed code is recognised with %i zeros behind it', async (zeros) => {
    const program = await readProgram(node(Uint8Array.from([...elf, ...new Uint8Array(zeros)])), PROGRAM);
    expect(program).toMatchObject({ isCommitted: true, slot: 7n, authority: AUTHORITY, dataAddress: DATA });
    // Zeros at the end do not count, as in `solana-verify`.
    const used = elf.subarray(0, elf.findLastIndex((byte) => byte !== 0) + 1);
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', used));
    expect(program.hash).toBe(Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''));
});

test('one changed, missing or additional byte is other code', async () => {
    const changed = elf.slice();
    changed[1_000] = (changed[1_000] ?? 0) ^ 1;
    for (const code of [changed, elf.subarray(0, -100), Uint8Array.from([...elf, 0, 1])]) {
        expect((await readProgram(node(code), PROGRAM)).isCommitted).toBe(false);
    }
});

test('a program without an authority cannot be replaced', async () => {
    expect((await readProgram(node(elf, { hasAuthority: false }), PROGRAM)).authority).toBeNull();
});

test('who can replace the program is known without its code', async () => {
    const program = await readDeployment(node(new Uint8Array()), PROGRAM);
    expect(program).toEqual({ slot: 7n, authority: AUTHORITY, dataAddress: DATA });
});

test('an account of something else is no program', async () => {
    await expect(readProgram(node(elf, { owner: DATA }), PROGRAM)).rejects.toThrow('upgradeable loader');
    await expect(readProgram(async (all) => all.map(() => null), PROGRAM)).rejects.toThrow('upgradeable loader');
});
