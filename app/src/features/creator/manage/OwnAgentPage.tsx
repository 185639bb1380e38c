// `/creator/agents/…`: everything that its creator does with one agent.

import { type Address, isAddress } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { StoredAgentStatus } from '../../../chain/stored';
import { ApiError, type Schemas } from '../../../shared/api/client';
import { networkQuery } from '../../../shared/api/queries';
import { UserText } from '../../../shared/text/UserText';
import { short } from '../../../shared/text/short';
import { visible } from '../../../shared/text/visible';
import { buttonClass } from '../../../shared/ui/Button';
import { Failure } from '../../../shared/ui/Failure';
import { Notice } from '../../../shared/ui/Notice';
import { Page } from '../../../shared/ui/Page';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { useWallet } from '../../../shared/wallet/useWallet';
import { agentQuery, listingQuery } from '../../agent';
import { TransactionState, WalletGate } from '../../wallet';
import styles from '../Creator.module.css';
import { editPath, executionsPath, testPath } from '../paths';
import { ownAgentQuery, walletQuery } from '../query';
import { CollateralPanel } from './CollateralPanel';
import { KeyPanel } from './KeyPanel';
import { LeavePanel } from './LeavePanel';
import layout from './Manage.module.css';
import { OwnFacts } from './OwnFacts';
import { StatusPanel } from './StatusPanel';
import { type Owned, useManaging } from './useManaging';
import { Visibility } from './Visibility';

const route = getRouteApi('/creator/agents/$agentId');

export function OwnAgentPage() {
    const { agentId } = route.useParams();
    if (!isAddress(agentId)) return <NoSuchAgent />;
    return <Named agentId={agentId} />;
}

function Named({ agentId }: { agentId: Address }) {
    const { connection } = useWallet();
    const wallet = connection?.account.address;
    const { data: agent } = useQuery(agentQuery(agentId));
    // The service names a delisted agent to its creator alone.
    const { data: own } = useQuery({ ...walletQuery(wallet ?? ''), enabled: wallet !== undefined });
    const name = agent?.name ?? own?.agents.find(({ agent_id }) => agent_id === agentId)?.name ?? null;
    return (
        <Page
            title={`Manage ${name === null ? short(agentId) : visible(name)}`}
            heading={
                <>
                    Manage{' '}
                    {name === null ? <span className="mono">{short(agentId, 6)}</span> : <UserText text={name} />}
                </>
            }
        >
            <WalletGate why="An agent is managed with the wallet that listed it.">
                {(wallet) => <Loaded key={wallet} agentId={agentId} wallet={wallet} />}
            </WalletGate>
        </Page>
    );
}

type LoadedProps = { agentId: Address; wallet: Address };

function Loaded({ agentId, wallet }: LoadedProps) {
    const { data: network } = useQuery(networkQuery);
    const { data: chain, error, refetch } = useQuery(ownAgentQuery(agentId, wallet, network));
    const managing = useManaging(agentId);
    if (network?.rpc_url === null) {
        return (
            <Notice kind="warn" title="No Solana node">
                <p>
                    This service names no node for browsers. Manage the agent with the command line:{' '}
                    <code>crtx agent --help</code>.
                </p>
            </Notice>
        );
    }
    if (chain === undefined || network === undefined) {
        return error === null ? <Loading /> : <Failure error={error} onRetry={() => void refetch()} />;
    }
    const { listing } = chain;
    if (listing === null) {
        return (
            <>
                <Gone agentId={agentId} />
                <TransactionState status={managing.status} done={managing.done} />
            </>
        );
    }
    if (listing.creator !== wallet) return <OfAnother agentId={agentId} creator={listing.creator} />;
    return (
        <>
            {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
            <Links agentId={agentId} isDelisted={listing.status === StoredAgentStatus.Delisted} />
            <Managed
                agentId={agentId}
                wallet={wallet}
                chain={{ ...chain, listing }}
                network={network}
                managing={managing}
            />
        </>
    );
}

type ManagedProps = LoadedProps & {
    chain: Owned;
    network: Schemas['NetworkResponse'];
    managing: ReturnType<typeof useManaging>;
};

function Managed({ agentId, wallet, chain, network, managing }: ManagedProps) {
    const isDelisted = chain.listing.status === StoredAgentStatus.Delisted;
    const { data: agent } = useQuery({ ...agentQuery(agentId), enabled: !isDelisted });
    const { data: service } = useQuery(walletQuery(wallet));
    const own = service?.agents.find(({ agent_id }) => agent_id === agentId);
    return (
        <div className={layout.columns}>
            <div className={layout.panels}>
                {!isDelisted && (
                    <>
                        <Visibility agentId={agentId} />
                        <StatusPanel chain={chain} managing={managing} isMarketPaused={network.openings_paused} />
                        <CollateralPanel
                            chain={chain}
                            managing={managing}
                            metrics={agent?.metrics}
                            maxPrice={network.limits.max_price_usdc}
                        />
                        <KeyPanel agentId={agentId} chain={chain} managing={managing} />
                    </>
                )}
                <LeavePanel agentId={agentId} chain={chain} managing={managing} />
            </div>
            <OwnFacts
                agentId={agentId}
                chain={chain}
                metrics={isDelisted ? undefined : agent?.metrics}
                earned={own?.earned_usdc ?? null}
                network={network}
            />
        </div>
    );
}

const Links = ({ agentId, isDelisted }: { agentId: Address; isDelisted: boolean }) => (
    <p className={styles.actions}>
        <Link to="/creator" className={buttonClass()}>
            All my agents
        </Link>
        {!isDelisted && (
            <>
                <Link to={editPath(agentId)} className={buttonClass()}>
                    Edit
                </Link>
                <Link to={testPath(agentId)} className={buttonClass()}>
                    Test
                </Link>
                <Link to="/agents/$agentId" params={{ agentId }} className={buttonClass()}>
                    As callers see it
                </Link>
            </>
        )}
        <Link to={executionsPath(agentId)} className={buttonClass()}>
            Its executions
        </Link>
    </p>
);

/** The listing was closed, or never existed: the index remembers which. */
function Gone({ agentId }: { agentId: Address }) {
    const { data: listing, error, isPending } = useQuery(listingQuery(agentId));
    if (isPending) return <Skeleton height="6rem" />;
    const isUnknown = listing === undefined && error instanceof ApiError && error.status === 404;
    return (
        <Notice title={isUnknown ? 'There is no such agent' : 'This agent is closed'}>
            <p>
                {isUnknown
                    ? 'Nobody has listed an agent at this address.'
                    : 'Its accounts are deleted, and their rent went back to its creator.'}
            </p>
            <p>
                <Link to="/creator">See all my agents</Link>
            </p>
        </Notice>
    );
}

const OfAnother = ({ agentId, creator }: { agentId: Address; creator: Address }) => (
    <Notice kind="warn" title="This agent belongs to another wallet">
        <p>
            It was listed by <span className="mono">{short(creator, 6)}</span>. Connect that wallet, or change the
            account in your wallet.
        </p>
        <p>
            <Link to="/agents/$agentId" params={{ agentId }}>
                See the agent
            </Link>
        </p>
    </Notice>
);

const NoSuchAgent = () => (
    <Page title="There is no such agent">
        <p>This is not the address of an agent.</p>
        <p>
            <Link to="/creator" className={buttonClass('primary')}>
                See all my agents
            </Link>
        </p>
    </Page>
);

const Loading = () => (
    <>
        <Skeleton height="2.5rem" />
        <div className={layout.columns}>
            <Skeleton height="24rem" />
            <Skeleton height="40rem" />
        </div>
    </>
);
