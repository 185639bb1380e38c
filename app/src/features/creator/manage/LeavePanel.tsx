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
import { words } from './words';

export type LeavePanelProps = { agentId: Address; chain: Owned; managing: Managing };

const CHANGED = words.leavePanel.changed;
const STILL_LOCKED = words.leavePanel.lockedAgain;

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
        <StepPanel step="leave" title={words.leavePanel.title} managing={managing}>
            <Checklist>
                <ChecklistItem title={words.leavePanel.delistStep} state={isDelisted ? 'done' : 'now'}>
                    {isDelisted ? <p>{words.leavePanel.delistedHint}</p> : <Delist chain={chain} managing={managing} />}
                </ChecklistItem>
                <ChecklistItem
                    title={words.leavePanel.withdrawStep}
                    state={isPaidOut ? 'done' : isDelisted ? 'now' : 'later'}
                >
                    {isPaidOut ? (
                        <p>{words.leavePanel.withdrawnHint}</p>
                    ) : !isDelisted ? (
                        <p className="muted">{words.leavePanel.withdrawHint(formatUsdc(listing.collateral))}</p>
                    ) : (
                        <Withdraw chain={chain} managing={managing} claims={claims} locked={locked} />
                    )}
                </ChecklistItem>
                <ChecklistItem title={words.leavePanel.closeStep} state={isPaidOut ? 'now' : 'later'}>
                    {isPaidOut ? (
                        <Close chain={chain} managing={managing} claims={claims} locked={locked} />
                    ) : (
                        <p className="muted">{words.leavePanel.closeHint(formatSol(chain.rent))}</p>
                    )}
                </ChecklistItem>
            </Checklist>
        </StepPanel>
    );
}

/** When the collateral is free if the agent is delisted now. */
function freeFrom({ lastDisputeDeadlineUnixS, openExecutions }: AgentListed, now: number): string {
    const deadline = Number(lastDisputeDeadlineUnixS);
    if (now <= deadline) return words.leavePanel.afterDeadline(exactTime(deadline));
    if (openExecutions > 0) return words.leavePanel.whenFree;
    return words.leavePanel.whenDelisted;
}

type PartProps = { chain: Owned; managing: Managing };

function Delist({ chain: { listing, now }, managing }: PartProps) {
    const [isAsked, setAsked] = useState(false);
    const effects = [
        words.leavePanel.forGood,
        listing.openExecutions === 0
            ? words.leavePanel.noOpen
            : words.leavePanel.open(
                  plural(listing.openExecutions, 'open call'),
                  listing.openExecutions === 1 ? 'goes' : 'go',
              ),
        words.leavePanel.withdrawable(formatUsdc(listing.collateral), freeFrom(listing, now)),
        ...(listing.openDisputes > 0 ? [words.leavePanel.disputesKeep(formatUsdc(listing.slashableAmount))] : []),
    ];
    const submit = (): void =>
        void managing.send({
            step: 'leave',
            done: words.leavePanel.delisted,
            build: (own, chain) => {
                if (chain.listing.status === StoredAgentStatus.Delisted) throw new Error(words.leavePanel.already);
                return delist(own);
            },
        });
    return (
        <>
            <p className="muted">{words.leavePanel.pauseInstead}</p>
            <SendButton step="leave" managing={managing} look="danger" onPress={() => setAsked(true)}>
                {words.leavePanel.delist}
            </SendButton>
            {isAsked && (
                <Confirm
                    question={words.leavePanel.ask}
                    label={words.leavePanel.confirm}
                    isDangerous
                    acknowledge={words.leavePanel.understood}
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
    wallet.hasTokenAccount ? [] : [words.leavePanel.noAccount(formatSol(ACCOUNT_RENT))];

function Withdraw({ chain, managing, claims, locked }: LockedPartProps) {
    const { listing, now } = chain;
    const free = withdrawable(listing, now);
    const amount = formatUsdc(free);
    if (free === 0n) {
        return (
            <>
                <p>{words.leavePanel.stillLocked(formatUsdc(listing.collateral))}</p>
                {locked}
            </>
        );
    }
    return (
        <>
            <Effects effects={[words.leavePanel.moves(amount), ...receiving(chain)]} />
            {claims.length > 0 && (
                <>
                    <p>{words.leavePanel.stays(formatUsdc(listing.collateral - free))}</p>
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
                        done: words.leavePanel.withdrawn(amount),
                        build: (own, now) => {
                            if (now.listing.collateral === 0n) throw new Error(words.leavePanel.nothingLeft);
                            if (withdrawable(now.listing, now.now) !== free) throw new Error(CHANGED);
                            return withdraw(own, now);
                        },
                    })
                }
            >
                {words.leavePanel.withdraw(amount)}
            </SendButton>
        </>
    );
}

function Close({ chain, managing, claims, locked }: LockedPartProps) {
    if (claims.length > 0) return locked;
    const rent = formatSol(chain.rent);
    return (
        <>
            <Effects effects={[words.leavePanel.closes(rent), words.leavePanel.totalsKept, ...receiving(chain)]} />
            <SendButton
                step="leave"
                managing={managing}
                look="danger"
                onPress={() =>
                    void managing.send({
                        step: 'leave',
                        done: words.leavePanel.closed(rent),
                        build: (own, now) => {
                            if (now.listing.collateral > 0n) throw new Error(words.leavePanel.withdrawFirst);
                            if (claimsOn(now.listing, now.now).length > 0) throw new Error(STILL_LOCKED);
                            return close(own, now);
                        },
                    })
                }
            >
                {words.leavePanel.close}
            </SendButton>
        </>
    );
}
