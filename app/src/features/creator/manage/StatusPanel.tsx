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
    const title = isSuspended
        ? words.statusPanel.suspended
        : isActive
          ? words.statusPanel.active
          : words.statusPanel.paused;
    return (
        <StepPanel step="status" title={title} managing={managing}>
            {isSuspended && <Suspended isActive={isActive} />}
            {isMarketPaused && (
                <Notice kind="warn" title={words.statusPanel.marketPaused}>
                    <p>{words.statusPanel.marketPausedText}</p>
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
    <Notice kind="bad" title={words.statusPanel.suspendedTitle}>
        <p>{words.statusPanel.suspendedText}</p>
        {!isActive && <p>{words.statusPanel.alsoPaused}</p>}
    </Notice>
);

const Active = ({ managing }: { managing: Managing }) => (
    <>
        <Effects effects={[words.statusPanel.pauseEffect, words.statusPanel.goesOn]} />
        <SendButton
            step="status"
            managing={managing}
            look="danger"
            onPress={() =>
                void managing.send({
                    step: 'status',
                    done: words.statusPanel.pauseDone,
                    build: (own, { listing }) => {
                        if (listing.status !== StoredAgentStatus.Active)
                            throw new Error(words.statusPanel.alreadyPaused);
                        return pause(own);
                    },
                })
            }
        >
            {words.statusPanel.pause}
        </SendButton>
    </>
);

function Paused({ chain: { listing, tiers }, managing }: { chain: Owned; managing: Managing }) {
    const missing = missingCollateral(tiers, listing);
    if (missing > 0n) {
        return (
            <Notice kind="warn" title={words.statusPanel.tooLittle}>
                <p>
                    {words.statusPanel.tooLittleText(
                        formatUsdc(listing.price),
                        formatUsdc(requiredCollateral(tiers, listing)),
                        formatUsdc(missing),
                    )}
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
            <Effects effects={[words.statusPanel.resumeEffect]} />
            <SendButton
                step="status"
                managing={managing}
                look="primary"
                onPress={() =>
                    void managing.send({
                        step: 'status',
                        done: words.statusPanel.resumeDone,
                        build: (own, now) => {
                            if (now.listing.status !== StoredAgentStatus.Paused)
                                throw new Error(words.statusPanel.alreadyActive);
                            if (missingCollateral(now.tiers, now.listing) > 0n) {
                                throw new Error(words.statusPanel.tooLow);
                            }
                            return resume(own);
                        },
                    })
                }
            >
                {words.statusPanel.resume}
            </SendButton>
        </>
    );
}
