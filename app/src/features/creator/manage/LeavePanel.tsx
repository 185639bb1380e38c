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

const CHANGED = words.leavePanel.whatCanBeWithdrawnHasJust;
const STILL_LOCKED = words.leavePanel.theCollateralIsLockedAgainThe;

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
        <StepPanel step="leave" title={words.leavePanel.leaveTheMarket} managing={managing}>
            <Checklist>
                <ChecklistItem title={words.leavePanel.delistTheAgent} state={isDelisted ? 'done' : 'now'}>
                    {isDelisted ? (
                        <p>{words.leavePanel.theAgentTakesNoCallsAny}</p>
                    ) : (
                        <Delist chain={chain} managing={managing} />
                    )}
                </ChecklistItem>
                <ChecklistItem
                    title={words.leavePanel.withdrawTheCollateral}
                    state={isPaidOut ? 'done' : isDelisted ? 'now' : 'later'}
                >
                    {isPaidOut ? (
                        <p>{words.leavePanel.noCollateralIsLeftInThe}</p>
                    ) : !isDelisted ? (
                        <p className="muted">{words.leavePanel.usdcAsSoonAsItIs(formatUsdc(listing.collateral))}</p>
                    ) : (
                        <Withdraw chain={chain} managing={managing} claims={claims} locked={locked} />
                    )}
                </ChecklistItem>
                <ChecklistItem title={words.leavePanel.closeItsAccounts} state={isPaidOut ? 'now' : 'later'}>
                    {isPaidOut ? (
                        <Close chain={chain} managing={managing} claims={claims} locked={locked} />
                    ) : (
                        <p className="muted">{words.leavePanel.theRentOfSolComesBack(formatSol(chain.rent))}</p>
                    )}
                </ChecklistItem>
            </Checklist>
        </StepPanel>
    );
}

/** When the collateral is free if the agent is delisted now. */
function freeFrom({ lastDisputeDeadlineUnixS, openExecutions }: AgentListed, now: number): string {
    const deadline = Number(lastDisputeDeadlineUnixS);
    if (now <= deadline) return words.leavePanel.afterOrLaterIfAnOpen(exactTime(deadline));
    if (openExecutions > 0) return words.leavePanel.whenNoCallIsOpenAnd;
    return words.leavePanel.asSoonAsItIsDelisted;
}

type PartProps = { chain: Owned; managing: Managing };

function Delist({ chain: { listing, now }, managing }: PartProps) {
    const [isAsked, setAsked] = useState(false);
    const effects = [
        words.leavePanel.theAgentTakesNoCallsAny2,
        listing.openExecutions === 0
            ? words.leavePanel.noCallIsOpen
            : words.leavePanel.onAndYourServiceHasTo(
                  plural(listing.openExecutions, 'open call'),
                  listing.openExecutions === 1 ? 'goes' : 'go',
              ),
        words.leavePanel.theCollateralOfUsdcCanBe(formatUsdc(listing.collateral), freeFrom(listing, now)),
        ...(listing.openDisputes > 0
            ? [words.leavePanel.openDisputesKeepUpToUsdc(formatUsdc(listing.slashableAmount))]
            : []),
    ];
    const submit = (): void =>
        void managing.send({
            step: 'leave',
            done: words.leavePanel.theAgentIsDelisted,
            build: (own, chain) => {
                if (chain.listing.status === StoredAgentStatus.Delisted)
                    throw new Error(words.leavePanel.theAgentIsDelistedAlready);
                return delist(own);
            },
        });
    return (
        <>
            <p className="muted">{words.leavePanel.itLeavesTheMarketForGood}</p>
            <SendButton step="leave" managing={managing} look="danger" onPress={() => setAsked(true)}>
                {words.leavePanel.delist}
            </SendButton>
            {isAsked && (
                <Confirm
                    question={words.leavePanel.delistThisAgentForGood}
                    label={words.leavePanel.delistForGood}
                    isDangerous
                    acknowledge={words.leavePanel.iKnowThatThisCannotBe}
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
    wallet.hasTokenAccount ? [] : [words.leavePanel.yourWalletHasNoUsdcAccount(formatSol(ACCOUNT_RENT))];

function Withdraw({ chain, managing, claims, locked }: LockedPartProps) {
    const { listing, now } = chain;
    const free = withdrawable(listing, now);
    const amount = formatUsdc(free);
    if (free === 0n) {
        return (
            <>
                <p>{words.leavePanel.usdcAreStillLocked(formatUsdc(listing.collateral))}</p>
                {locked}
            </>
        );
    }
    return (
        <>
            <Effects effects={[words.leavePanel.usdcMoveFromTheAgentInto(amount), ...receiving(chain)]} />
            {claims.length > 0 && (
                <>
                    <p>{words.leavePanel.usdcStayInTheAgentThe(formatUsdc(listing.collateral - free))}</p>
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
                        done: words.leavePanel.usdcAreBackInYourWallet(amount),
                        build: (own, now) => {
                            if (now.listing.collateral === 0n)
                                throw new Error(words.leavePanel.theCollateralIsWithdrawnAlready);
                            if (withdrawable(now.listing, now.now) !== free) throw new Error(CHANGED);
                            return withdraw(own, now);
                        },
                    })
                }
            >
                {words.leavePanel.withdrawUsdc(amount)}
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
                    words.leavePanel.itsThreeAccountsAreDeletedAnd(rent),
                    words.leavePanel.itsTotalsAreAddedToYour,
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
                        done: words.leavePanel.theAgentIsClosedAndSol(rent),
                        build: (own, now) => {
                            if (now.listing.collateral > 0n)
                                throw new Error(words.leavePanel.theCollateralHasToBeWithdrawn);
                            if (claimsOn(now.listing, now.now).length > 0) throw new Error(STILL_LOCKED);
                            return close(own, now);
                        },
                    })
                }
            >
                {words.leavePanel.closeTheAccounts}
            </SendButton>
        </>
    );
}
