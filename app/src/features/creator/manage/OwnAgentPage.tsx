// `/creator/agents/…`: everything that its creator does with one agent.

import { type Address, isAddress } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { StoredAgentStatus } from '../../../chain/stored';
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
import { agentQuery } from '../../agent';
import { TransactionState, WalletGate } from '../../wallet';
import styles from '../Creator.module.css';
import { ownAgentQuery, walletQuery } from '../query';
import { Managed } from './Managed';
import { Gone, NoSuchAgent, OfAnother } from './NotManaged';
import { useManaging } from './useManaging';
import { words } from './words';

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
            title={words.ownAgentPage.titleOf(name === null ? short(agentId) : visible(name))}
            heading={
                <>
                    {words.ownAgentPage.title}{' '}
                    {name === null ? <span className="mono">{short(agentId, 6)}</span> : <UserText text={name} />}
                </>
            }
        >
            <WalletGate why={words.ownAgentPage.why}>
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
            <Notice kind="warn" title={words.ownAgentPage.noNode}>
                <p>
                    {words.ownAgentPage.noNodeText} <code>crtx agent --help</code>.
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

const Links = ({ agentId, isDelisted }: { agentId: Address; isDelisted: boolean }) => (
    <p className={styles.actions}>
        <Link to="/creator" className={buttonClass()}>
            {words.ownAgentPage.all}
        </Link>
        {!isDelisted && (
            <Link to="/agents/$agentId" params={{ agentId }} className={buttonClass()}>
                {words.listing.asCallers}
            </Link>
        )}
    </p>
);

const Loading = () => (
    <>
        <Skeleton height="2.5rem" />
        <Skeleton height="20rem" />
        <Skeleton height="24rem" />
    </>
);
