// The way out of the market, in its order: delist, withdraw the collateral, close the accounts.

import type { Address } from '@solana/kit';
import { type ReactNode, useState } from 'react';

import { type Claim, claimsOn, withdrawable } from '../../../chain/collateral';
import { StoredAgentStatus } from '../../../chain/stored';
import type { AgentListed } from '../../../generated/accounts/agentListed';
import { plural } from '../../../shared/figures';
import { formatSol, formatUsdc } from '../../../shared/money';
import { exactTime } from '../../../shared/time/moments';
import { Checklist, ChecklistItem } from '../../../shared/ui/Checklist';
import { Confirm } from '../../../shared/ui/Confirm';
import { Effects } from '../Effects';
import { close, delist, withdraw } from '../instructions';
import { Locked } from './Locked';
import { SendButton, StepPanel } from './StepPanel';
import type { Managing, Owned } from './useManaging';

export type LeavePanelProps = { agentId: Address; chain: Owned; managing: Managing };

const CHANGED = 'What can be withdrawn has just changed. Look at the amount again.';
const STILL_LOCKED = 'The collateral is locked again. The page shows why.';

export function LeavePanel({ agentId, chain, managing }: LeavePanelProps) {
    const { listing, now, graceSeconds } = chain;
    const isDelisted = listing.status === StoredAgentStatus.Delisted;
    const claims = claimsOn(listing, now);
    const isPaidOut = isDelisted && listing.collateral === 0n;
    const locked = (
        <Locked
            agentId={agentId}
            claims={claims}
            chainNow={now}
            timeoutSeconds={listing.timeoutSeconds}
            graceSeconds={graceSeconds}
        />
    );
    return (
        <StepPanel step="leave" title="Leave the market" managing={managing}>
            <Checklist>
                <ChecklistItem title="Delist the agent" state={isDelisted ? 'done' : 'now'}>
                    {isDelisted ? (
                        <p>The agent takes no calls any more.</p>
                    ) : (
                        <Delist chain={chain} managing={managing} />
                    )}
                </ChecklistItem>
                <ChecklistItem
                    title="Withdraw the collateral"
                    state={isPaidOut ? 'done' : isDelisted ? 'now' : 'later'}
                >
                    {isPaidOut ? (
                        <p>No collateral is left in the agent.</p>
                    ) : !isDelisted ? (
                        <p className="muted">
                            {formatUsdc(listing.collateral)} USDC, as soon as it is delisted and nobody can raise a
                            claim any more. Open disputes keep what they may still take.
                        </p>
                    ) : (
                        <Withdraw chain={chain} managing={managing} claims={claims} locked={locked} />
                    )}
                </ChecklistItem>
                <ChecklistItem title="Close its accounts" state={isPaidOut ? 'now' : 'later'}>
                    {isPaidOut ? (
                        <Close chain={chain} managing={managing} claims={claims} locked={locked} />
                    ) : (
                        <p className="muted">
                            The rent of {formatSol(chain.rent)} SOL comes back, once the collateral is withdrawn.
                        </p>
                    )}
                </ChecklistItem>
            </Checklist>
        </StepPanel>
    );
}

/** When the collateral is free if the agent is delisted now. */
function freeFrom({ lastDisputeDeadlineUnixS, openExecutions }: AgentListed, now: number): string {
    const deadline = Number(lastDisputeDeadlineUnixS);
    if (now <= deadline) return `after ${exactTime(deadline)}, or later if an open call completes`;
    if (openExecutions > 0) return 'when no call is open, and no completed call can be disputed';
    return 'as soon as it is delisted';
}

type PartProps = { chain: Owned; managing: Managing };

function Delist({ chain: { listing, now }, managing }: PartProps) {
    const [isAsked, setAsked] = useState(false);
    const effects = [
        'The agent takes no calls any more, for good. Another listing of it has another address and begins without its record.',
        listing.openExecutions === 0
            ? 'No call is open.'
            : `${plural(listing.openExecutions, 'open call')} ${listing.openExecutions === 1 ? 'goes' : 'go'} on, and your service has to answer as before.`,
        `The collateral of ${formatUsdc(listing.collateral)} USDC can be withdrawn ${freeFrom(listing, now)}.`,
        ...(listing.openDisputes > 0
            ? [`Open disputes keep up to ${formatUsdc(listing.slashableAmount)} USDC of it until they end.`]
            : []),
    ];
    const submit = (): void =>
        void managing.send({
            step: 'leave',
            done: 'The agent is delisted.',
            build: (own, chain) => {
                if (chain.listing.status === StoredAgentStatus.Delisted)
                    throw new Error('The agent is delisted already.');
                return delist(own);
            },
        });
    return (
        <>
            <p className="muted">It leaves the market for good. To stop for a while, pause it.</p>
            <SendButton step="leave" managing={managing} look="danger" onPress={() => setAsked(true)}>
                Delist …
            </SendButton>
            {isAsked && (
                <Confirm
                    question="Delist this agent for good?"
                    label="Delist for good"
                    isDangerous
                    acknowledge="I know that this cannot be undone"
                    onConfirm={submit}
                    onClose={() => setAsked(false)}
                >
                    <Effects effects={effects} />
                </Confirm>
            )}
        </>
    );
}

type LockedPartProps = PartProps & { claims: readonly Claim[]; locked: ReactNode };

const ACCOUNT_RENT = 2_039_280n;

/** The payout goes to the wallet's USDC account, which may have been closed. */
const receiving = ({ wallet }: Owned): string[] =>
    wallet.hasTokenAccount
        ? []
        : [`Your wallet has no USDC account. It is created; its rent is ${formatSol(ACCOUNT_RENT)} SOL.`];

function Withdraw({ chain, managing, claims, locked }: LockedPartProps) {
    const { listing, now } = chain;
    const free = withdrawable(listing, now);
    const amount = formatUsdc(free);
    if (free === 0n) {
        return (
            <>
                <p>{formatUsdc(listing.collateral)} USDC are still locked:</p>
                {locked}
            </>
        );
    }
    return (
        <>
            <Effects effects={[`${amount} USDC move from the agent into your wallet.`, ...receiving(chain)]} />
            {claims.length > 0 && (
                <>
                    <p>
                        {formatUsdc(listing.collateral - free)} USDC stay in the agent: the most that open disputes may
                        still take.
                    </p>
                    {locked}
                </>
            )}
            <SendButton
                step="leave"
                managing={managing}
                look="primary"
                onPress={() =>
                    void managing.send({
                        step: 'leave',
                        done: `${amount} USDC are back in your wallet.`,
                        build: (own, now) => {
                            if (now.listing.collateral === 0n) throw new Error('The collateral is withdrawn already.');
                            if (withdrawable(now.listing, now.now) !== free) throw new Error(CHANGED);
                            return withdraw(own, now);
                        },
                    })
                }
            >
                Withdraw {amount} USDC
            </SendButton>
        </>
    );
}

function Close({ chain, managing, claims, locked }: LockedPartProps) {
    if (claims.length > 0) return locked;
    const rent = formatSol(chain.rent);
    return (
        <>
            <Effects
                effects={[
                    `Its three accounts are deleted, and ${rent} SOL of rent return to your wallet.`,
                    'Its totals are added to your creator profile. Its page disappears.',
                    ...receiving(chain),
                ]}
            />
            <SendButton
                step="leave"
                managing={managing}
                look="danger"
                onPress={() =>
                    void managing.send({
                        step: 'leave',
                        done: `The agent is closed, and ${rent} SOL are back in your wallet.`,
                        build: (own, now) => {
                            if (now.listing.collateral > 0n)
                                throw new Error('The collateral has to be withdrawn first.');
                            if (claimsOn(now.listing, now.now).length > 0) throw new Error(STILL_LOCKED);
                            return close(own, now);
                        },
                    })
                }
            >
                Close the accounts
            </SendButton>
        </>
    );
}
