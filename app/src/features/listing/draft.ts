// What a creator has written so far, kept in this browser, so that a reload loses nothing. Never a secret key.

import { type Fields, EMPTY, FIELD_NAMES, isSame } from './form/fields';
import type { TestCall } from './test/testCall';
import { words } from './words';

const PREFIX = 'crtx.listing.';

/** A transaction that may have been sent: the chain has at most one agent for wallet and index. */
export type Attempt = {
    readonly genesisHash: string;
    readonly index: number;
    /** Result keys and document hashes (hexadecimal digits) that were sent for this index. */
    readonly sent: readonly { readonly resultKey: string; readonly document: string }[];
};

export type NewDraft = {
    readonly fields: Fields;
    readonly test: TestCall | null;
    /** The file of the result key that this browser made is saved, as the creator says. */
    readonly hasKeyFile: boolean;
    readonly attempt: Attempt | null;
    /** The agent that the attempt has made. */
    readonly listed: string | null;
};

export const BLANK_DRAFT: NewDraft = { fields: EMPTY, test: null, hasKeyFile: false, attempt: null, listed: null };

const newKey = (wallet: string): string => `${PREFIX}new.${wallet}`;
const changesKey = (agentId: string): string => `${PREFIX}edit.${agentId}`;
const testKey = (agentId: string): string => `${PREFIX}test.${agentId}`;

export function newDraft(wallet: string): NewDraft {
    const stored = read(newKey(wallet)) as Partial<NewDraft> | null;
    if (stored === null || typeof stored !== 'object') return BLANK_DRAFT;
    const { test = null, hasKeyFile = false, attempt = null, listed = null } = stored;
    return {
        fields: { ...EMPTY, ...knownFields(stored.fields) },
        test,
        hasKeyFile,
        attempt,
        listed,
    };
}

/** Throws if this browser keeps nothing; then nothing may be signed. */
export function putNewDraft(wallet: string, draft: NewDraft): void {
    try {
        write(newKey(wallet), draft);
    } catch {
        throw new Error(words.draft.noStorage);
    }
}

/** The name in a draft that was begun and not listed, perhaps empty; `null` if there is none. */
export function unpublishedName(wallet: string): string | null {
    const { fields, attempt, listed } = newDraft(wallet);
    const isBegun = attempt !== null || FIELD_NAMES.some((name) => !isSame(fields[name], EMPTY[name]));
    return isBegun && listed === null ? fields.name : null;
}

export const removeNewDraft = (wallet: string): void => localStorage.removeItem(newKey(wallet));

/** The fields of a listing that were changed and not sent yet. */
export const changesOf = (agentId: string): Partial<Fields> => knownFields(read(changesKey(agentId)));

export function putChanges(agentId: string, changes: Partial<Fields>): void {
    if (Object.keys(changes).length === 0) localStorage.removeItem(changesKey(agentId));
    else write(changesKey(agentId), changes);
}

export const testOf = (agentId: string): TestCall | null => read(testKey(agentId)) as TestCall | null;
export const putTest = (agentId: string, test: TestCall): void => write(testKey(agentId), test);

/** `changes` with `more`, without what is as it was. */
export function mergedChanges(base: Fields, changes: Partial<Fields>, more: Partial<Fields>): Partial<Fields> {
    const all = { ...changes, ...more };
    return Object.fromEntries(
        FIELD_NAMES.filter((name) => all[name] !== undefined && !isSame(all[name], base[name])).map((name) => [
            name,
            all[name],
        ]),
    );
}

/** Only members of the right kind: another version of this page may have stored others. */
function knownFields(stored: unknown): Partial<Fields> {
    if (typeof stored !== 'object' || stored === null) return {};
    const values = stored as Record<string, unknown>;
    const isRight = (name: keyof Fields): boolean =>
        Array.isArray(EMPTY[name])
            ? Array.isArray(values[name]) && values[name].every((tag) => typeof tag === 'string')
            : typeof values[name] === typeof EMPTY[name];
    return Object.fromEntries(FIELD_NAMES.filter(isRight).map((name) => [name, values[name]]));
}

function read(key: string): unknown {
    try {
        return JSON.parse(localStorage.getItem(key) ?? 'null');
    } catch {
        return null;
    }
}

function write(key: string, value: unknown): void {
    localStorage.setItem(key, JSON.stringify(value));
}
