// Evidence without any service: what the transactions state takes the place of what a service states. So the checks
// compare the accounts with the transactions, and both with the content.

import { hexOf } from '../../../chain/accounts';
import { uuidText } from '../../../chain/record';
import { StoredDisputeOutcome as Outcome } from '../../../chain/stored';
import { movedBy } from '../../../chain/story';
import { cidOf } from '../../../shared/content';
import { splitOf } from '../../../shared/fee';
import { type ChainEvidence, type Claims, type Evidence, type Found, need } from './evidence';

/** The SHA-256 that the record commits to, `sha256:…`; `null`: there is no result. */
export function committedHash({ record }: ChainEvidence): string | null {
    if ('missing' in record || record.value.resultHash.every((byte) => byte === 0)) return null;
    return `sha256:${hexOf(record.value.resultHash)}`;
}

/** `content`: the bytes that were found for the hash of the record. */
export function withStatements(chain: ChainEvidence, content: Found<Uint8Array>): Evidence {
    const hash = committedHash(chain);
    const settled = () => {
        const ending = need(chain.ending);
        return ending.payees.kind === 'settled' ? { ending, payees: ending.payees } : null;
    };
    // Each is read when a check asks for it, so that a transaction that is missing fails the checks that need it alone.
    const claims: Claims = {
        get execution_id() {
            return uuidText(need(chain.opening).executionId);
        },
        get agent_id() {
            return need(chain.opening).agent;
        },
        get status() {
            return statusOf(chain);
        },
        get result() {
            return 'value' in content ? textOf(content.value) : null;
        },
        get result_hash() {
            const { completion } = need(chain.ending);
            return completion && `sha256:${hexOf(completion.resultHash)}`;
        },
        get cost_usdc() {
            return this.creator_amount_usdc + this.platform_amount_usdc - compensationOf(chain);
        },
        get creator_amount_usdc() {
            return paidOf(chain, settled()).creator;
        },
        get platform_amount_usdc() {
            return paidOf(chain, settled()).platform;
        },
        get tokens_used() {
            const used = need(chain.ending).completion?.tokensUsed ?? null;
            return used === null ? null : Number(used);
        },
        // The program stores at most what passed on the chain, so the record may have less than the instruction.
        execution_time_ms: null,
        ipfs_url: hash && new URL(`/ipfs/${cidOf(hash)}`, 'https://content.invalid').href,
        on_chain_record: chain.recordAddress,
    };
    return { claims, content, ...chain };
}

function statusOf({ ending, dispute }: ChainEvidence): Claims['status'] {
    if (need(ending).payees.kind === 'refunded') return 'failed';
    if (dispute === null) return 'completed';
    const { outcome } = need(dispute);
    return outcome === Outcome.Open ? 'disputed' : outcome === Outcome.Upheld ? 'failed' : 'completed';
}

/** What a dispute gave back of what was paid. */
function compensationOf({ dispute }: ChainEvidence): bigint {
    if (dispute === null) return 0n;
    const { outcome, compensation } = need(dispute);
    return outcome === Outcome.Upheld ? compensation : 0n;
}

type Settled = { ending: Parameters<typeof movedBy>[0]; payees: { creator: string; treasury: string } } | null;

function paidOf({ config, record }: ChainEvidence, settled: Settled): { creator: bigint; platform: bigint } {
    if (settled === null) return { creator: 0n, platform: 0n };
    const moved = new Map<string, bigint>(movedBy(settled.ending, need(config).usdcMint));
    const [creator, platform] = [moved.get(settled.payees.creator) ?? 0n, moved.get(settled.payees.treasury) ?? 0n];
    // One account can be paid both parts.
    if (settled.payees.creator === settled.payees.treasury) return splitOf(creator, need(record).feeBps);
    return { creator, platform };
}

/** Results are text. Other bytes are no result that a page could show. */
export function textOf(bytes: Uint8Array): string | null {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
        return null;
    }
}
