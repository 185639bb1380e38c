// What a proof page shows: the checks in four groups, and what follows from them.

import {
    type ChainEvidence,
    type Check,
    type Found,
    committedHash,
    isRefund,
    runChecks,
    textOf,
    withStatements,
} from '../execution';

export const GROUPS = {
    content: ['content', 'result', 'address'],
    signature: ['gate', 'message', 'key', 'signature', 'listing'],
    chain: ['record', 'identity', 'status', 'commitment', 'settlement'],
    money: ['split', 'payment', 'amounts'],
} as const;

export type GroupName = keyof typeof GROUPS;
/** `none`: a refund has no result, so there is nothing to check. */
export type GroupState = 'passed' | 'failed' | 'unchecked' | 'none';
export type Group = { readonly name: GroupName; readonly state: GroupState; readonly checks: readonly Check[] };

export type Report = {
    readonly groups: readonly Group[];
    readonly isRefund: boolean;
    /** `partly`: all that could be checked holds, and the content was not found. */
    readonly verdict: 'verified' | 'partly' | 'failed';
    /** Why the content was not checked. */
    readonly contentMissing: string | null;
    /** The result, if it is the one that was signed; `null` also where it is no text. */
    readonly text: string | null;
};

export async function reportOf(chain: ChainEvidence, content: Found<Uint8Array>): Promise<Report> {
    const evidence = withStatements(chain, content);
    const contentMissing = 'missing' in content ? content.missing : null;
    const groups = groupsOf(await runChecks(evidence), contentMissing !== null);
    const states = groups.map(({ state }) => state);
    const isWhole = groups.find(({ name }) => name === 'content')?.state === 'passed';
    return {
        groups,
        isRefund: isRefund(evidence),
        verdict: states.includes('failed') ? 'failed' : states.includes('unchecked') ? 'partly' : 'verified',
        contentMissing: committedHash(chain) === null ? null : contentMissing,
        text: isWhole && 'value' in content ? textOf(content.value) : null,
    };
}

/** Content that is not there is not checked. Everything else that cannot be checked has failed: a node may hide it. */
export function groupsOf(checks: readonly Check[], isContentMissing: boolean): Group[] {
    return (Object.keys(GROUPS) as GroupName[]).map((name) => {
        const members: readonly string[] = GROUPS[name];
        const own = checks.filter((check) => members.includes(check.name));
        const bad = own.filter(({ ok }) => !ok);
        const isUnchecked = isContentMissing && bad.length > 0 && bad.every((check) => check.name === 'content');
        const state = own.length === 0 ? 'none' : bad.length === 0 ? 'passed' : isUnchecked ? 'unchecked' : 'failed';
        return { name, state, checks: own };
    });
}
