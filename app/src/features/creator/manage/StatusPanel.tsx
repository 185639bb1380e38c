// Whether the agent takes calls: pause and resume.

import { Link } from '@tanstack/react-router';

import { missingCollateral, requiredCollateral } from '../../../chain/collateral';
import { StoredAgentStatus } from '../../../chain/stored';
import { formatUsdc } from '../../../shared/money';
import { Notice } from '../../../shared/ui/Notice';
import { Effects } from '../Effects';
import { pause, resume } from '../instructions';
import { SendButton, StepPanel } from './StepPanel';
import type { Managing, Owned } from './useManaging';
import { words } from './words';

export type StatusPanelProps = { chain: Owned; managing: Managing; isMarketPaused: boolean };

export function StatusPanel({ chain, managing, isMarketPaused }: StatusPanelProps) {
    if (chain.listing.status === StoredAgentStatus.Delisted) return <Delisted managing={managing} />;
    const isActive = chain.listing.status === StoredAgentStatus.Active;
    const isSuspended = chain.listing.suspended !== 0;
    const title = isSuspended ? 'It is suspended' : isActive ? 'It takes calls' : 'It is paused';
    return (
        <StepPanel step="status" title={title} managing={managing}>
            {isSuspended && <Suspended isActive={isActive} />}
            {isMarketPaused && (
                <Notice kind="warn" title="The marketplace is paused">
                    <p>No agent takes new calls until the admin resumes them. Calls under way go on.</p>
                </Notice>
            )}
            {isActive ? <Active managing={managing} /> : <Paused chain={chain} managing={managing} />}
        </StepPanel>
    );
}

const Delisted = ({ managing }: { managing: Managing }) => (
    <StepPanel step="status" title={words.state.delisted} managing={managing}>
        <p className="muted">{words.state.delistedText}</p>
    </StepPanel>
);

const Suspended = ({ isActive }: { isActive: boolean }) => (
    <Notice kind="bad" title="The marketplace has suspended this agent">
        <p>
            The admin or the guardian has stopped its new calls. Only the admin of the marketplace can resume it; ask
            the admin why. Calls under way go on and are paid, and you can edit, delist and withdraw as before.
        </p>
        {!isActive && <p>It is also paused by you, or by a dispute that took collateral.</p>}
    </Notice>
);

const Active = ({ managing }: { managing: Managing }) => (
    <>
        <Effects
            effects={[
                'New calls are refused until you resume the agent, and it leaves the lists. Its page stays.',
                'Calls under way go on and are paid. The collateral stays locked.',
            ]}
        />
        <SendButton
            step="status"
            managing={managing}
            look="danger"
            onPress={() =>
                void managing.send({
                    step: 'status',
                    done: 'The agent is paused.',
                    build: (own, { listing }) => {
                        if (listing.status !== StoredAgentStatus.Active)
                            throw new Error('The agent takes no calls already.');
                        return pause(own);
                    },
                })
            }
        >
            Pause the agent
        </SendButton>
    </>
);

function Paused({ chain: { listing, tiers }, managing }: { chain: Owned; managing: Managing }) {
    const missing = missingCollateral(tiers, listing);
    if (missing > 0n) {
        return (
            <Notice kind="warn" title="There is too little collateral to resume it">
                <p>
                    At its price of {formatUsdc(listing.price)} USDC and its promised cover an active agent needs{' '}
                    {formatUsdc(requiredCollateral(tiers, listing))} USDC that no open dispute claims. Add{' '}
                    {formatUsdc(missing)} USDC, or lower the price.
                </p>
                <p>
                    <Link from="/creator/agents/$agentId" search={{ tab: 'collateral' }} resetScroll={false}>
                        {words.addCollateral}
                    </Link>
                </p>
            </Notice>
        );
    }
    return (
        <>
            <Effects effects={['The agent takes calls and is in the lists again.']} />
            <SendButton
                step="status"
                managing={managing}
                look="primary"
                onPress={() =>
                    void managing.send({
                        step: 'status',
                        done: 'The agent takes calls.',
                        build: (own, now) => {
                            if (now.listing.status !== StoredAgentStatus.Paused)
                                throw new Error('The agent is not paused any more.');
                            if (missingCollateral(now.tiers, now.listing) > 0n) {
                                throw new Error(
                                    'The collateral has become too low for the terms of the agent. Add to it first.',
                                );
                            }
                            return resume(own);
                        },
                    })
                }
            >
                Resume the agent
            </SendButton>
        </>
    );
}
