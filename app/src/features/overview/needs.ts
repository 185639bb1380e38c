// What needs the owner of a wallet, most urgent first: each is one line with one way to act. Pure, so that every case has a
// test.

import { missingCollateral } from '../../chain/collateral';
import type { OwnListings } from '../../chain/listing';
import { StoredAgentStatus } from '../../chain/stored';
import type { Schemas } from '../../shared/api/client';
import type { TotalsGroup } from '../../shared/api/totals';
import { formatUsdc } from '../../shared/money';
import { NEW_AGENT, isAboutDocument, managePath } from '../creator';
import { type Dispute, secondsOf, turnOf } from '../disputes';
import { type Funds, callsLeft, isLow, shortOf } from '../keys';
import { words } from './words';

export type Need = {
    readonly id: string;
    readonly kind: 'bad' | 'warn';
    /** A name that a stranger may have written. */
    readonly subject: string | null;
    readonly text: string;
    /** A moment that is counted down after the text. */
    readonly until?: string;
    readonly to: string;
    readonly action: string;
};

/** `undefined`: not known yet, or not at all. */
export type Facts = {
    readonly wallet: string;
    readonly nowS: number;
    readonly resolver: string | null | undefined;
    readonly disputes: readonly Dispute[] | undefined;
    readonly service: Schemas['WalletResponse'] | undefined;
    readonly listings: OwnListings | undefined;
    readonly keys: readonly Schemas['KeyAnswer'][] | undefined;
    readonly funds: Funds | undefined;
    /** Calls of the own agents in the last 24 hours, by agent. */
    readonly lastDay: readonly TotalsGroup[] | undefined;
    /** The name in the draft of a new agent; `null`: there is no draft. */
    readonly draft: string | null;
};

const { needs } = words;

/** A key with less than a tenth of its cap is near it. */
const NEAR_PART = 10n;
/** Fewer failures may be chance. */
const LEAST_FAILURES = 3;
/** One failure of so many calls is too many. */
const FAILING_PART = 5;

export const needsOf = (facts: Facts): Need[] =>
    [
        ...disputesOf(facts),
        ...refundsOf(facts),
        ...agentsOf(facts),
        ...keysOf(facts),
        ...approvalOf(facts),
        ...draftOf(facts),
    ].sort((one, other) => Number(one.kind === 'warn') - Number(other.kind === 'warn'));

function disputesOf({ disputes = [], wallet, resolver, nowS }: Facts): Need[] {
    return disputes.flatMap((dispute): Need[] => {
        const { dispute: id, agent_name: subject, creator, answered_at, upholdable_from, respond_by } = dispute;
        const turn = turnOf(dispute, nowS);
        const line = { id, subject, to: `/disputes/${id}` };
        const found: Need[] = [];
        if (creator === wallet && dispute.status === 'open' && answered_at === null) {
            const isLate = nowS >= secondsOf(upholdable_from);
            found.push({
                ...line,
                kind: 'bad',
                action: needs.toAnswer,
                ...(isLate ? { text: needs.answerLate } : { text: needs.answer, until: upholdable_from }),
            });
        }
        if (resolver === wallet && turn === 'resolver') {
            const kind = nowS > secondsOf(respond_by) ? 'bad' : 'warn';
            found.push({
                ...line,
                id: `${id} decide`,
                kind,
                text: needs.decide,
                until: respond_by,
                action: needs.toDecide,
            });
        }
        return found;
    });
}

function refundsOf({ service }: Facts): Need[] {
    const refundable = service?.refundable ?? [];
    if (refundable.length === 0) return [];
    const amount = refundable.reduce((sum, { amount_usdc }) => sum + amount_usdc, 0n);
    return [
        {
            id: 'refundable',
            kind: 'bad',
            subject: null,
            text: needs.refundable(refundable.length, formatUsdc(amount)),
            to: '/executions',
            action: needs.toRefund,
        },
    ];
}

/** Collateral by the chain, the document and the suspension by the service, failures by the sums of a day. */
function agentsOf({ listings, service, lastDay = [] }: Facts): Need[] {
    const named = new Map(service?.agents.map((agent) => [agent.agent_id, agent]));
    const line = (agentId: string, what: string, name: string | null | undefined) => ({
        id: `${agentId} ${what}`,
        subject: name ?? needs.unnamedAgent,
        to: managePath(agentId),
    });
    const short = (listings?.listed ?? []).flatMap(({ address, listing }): Need[] => {
        const missing = missingCollateral(listings?.tiers ?? [], listing);
        if (listing.status === StoredAgentStatus.Delisted || missing === 0n) return [];
        const text = needs.collateral(formatUsdc(missing));
        const own = {
            ...line(address, 'collateral', named.get(address)?.name),
            to: `${managePath(address)}?tab=collateral`,
        };
        return [{ ...own, kind: 'bad', text, action: needs.toCollateral }];
    });
    const troubled = (service?.agents ?? []).flatMap((agent): Need[] => {
        if (agent.status === 'delisted') return [];
        const own = { ...line(agent.agent_id, 'state', agent.name), kind: 'bad' as const, action: needs.toHidden };
        if (agent.suspended) return [{ ...own, text: needs.suspended }];
        return agent.reason && isAboutDocument(agent.reason.code) ? [{ ...own, text: needs.hidden }] : [];
    });
    const failing = lastDay.flatMap(({ agent_id: agentId, agent_name: name, completed, failed, disputed }): Need[] => {
        const ended = completed + failed + disputed;
        if (agentId === null || failed < LEAST_FAILURES || failed * FAILING_PART < ended) return [];
        const own = line(agentId, 'failing', name);
        return [{ ...own, kind: 'bad', text: needs.failing(failed, ended), action: needs.toFailing }];
    });
    return [...short, ...troubled, ...failing];
}

function keysOf({ keys = [] }: Facts): Need[] {
    return keys.flatMap(
        ({
            session_public_key: id,
            name,
            state,
            left_usdc: left,
            total_cap_usdc: cap,
            per_call_cap_usdc: call,
        }): Need[] => {
            if (state !== 'active' || left === null || cap === null) return [];
            if (left * NEAR_PART >= cap && (call === null || left >= call)) return [];
            const text = needs.keyLow(formatUsdc(left), formatUsdc(cap));
            return [{ id, kind: 'warn', subject: name ?? needs.unnamedKey, text, to: '/keys', action: needs.toKey }];
        },
    );
}

function approvalOf({ funds }: Facts): Need[] {
    if (funds === undefined) return [];
    const [short, calls] = [shortOf(funds), callsLeft(funds)];
    if (calls === null || (short === 0n && !isLow(funds))) return [];
    const text = short > 0n ? needs.approvalShort(formatUsdc(short)) : needs.approvalLow(Number(calls));
    return [{ id: 'approval', kind: 'warn', subject: null, text, to: '/keys', action: needs.toApprove }];
}

const draftOf = ({ draft }: Facts): Need[] =>
    draft === null
        ? []
        : [
              {
                  id: 'draft',
                  kind: 'warn',
                  subject: draft === '' ? needs.unnamedDraft : draft,
                  text: needs.draft,
                  to: NEW_AGENT,
                  action: needs.toDraft,
              },
          ];
