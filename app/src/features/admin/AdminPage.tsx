// The page of the admin, and of the guardian, who sees only what it may do. Other wallets see who the two are and get no
// buttons; the chain refuses them anyway.

import { useQuery } from '@tanstack/react-query';

import { type Market, NOBODY, marketQuery } from '../../chain/market';
import { networkQuery } from '../../shared/api/queries';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { SectionBoundary } from '../../shared/ui/SectionBoundary';
import { Skeleton } from '../../shared/ui/Skeleton';
import { RoleHolder } from '../market';
import { WalletGate } from '../wallet';
import { AcceptAdmin } from './roles/AcceptAdmin';
import { CreatorsPanel } from './creators/CreatorsPanel';
import { ParametersPanel } from './parameters/ParametersPanel';
import { PausePanel } from './PausePanel';
import { RolesPanel } from './roles/RolesPanel';
import { SuspendPanel } from './suspend/SuspendPanel';
import { words } from './words';

export const AdminPage = () => (
    <Page title={words.adminPage.title}>
        <WalletGate why={words.adminPage.why}>{(account) => <ForAccount account={account} />}</WalletGate>
    </Page>
);

function ForAccount({ account }: { account: string }) {
    const { data: network, error: networkError, refetch: refetchNetwork } = useQuery(networkQuery);
    const { data: market, error, refetch } = useQuery(marketQuery(network?.rpc_url));
    if (networkError) return <Failure error={networkError} onRetry={() => void refetchNetwork()} />;
    if (network?.rpc_url === null) {
        return (
            <Notice kind="warn" title={words.adminPage.noNode}>
                <p>{words.adminPage.noNodeText}</p>
            </Notice>
        );
    }
    // The last answer is good enough while the node does not answer: every action reads the chain again.
    if (market !== undefined) return <ForRole account={account} market={market} />;
    return error ? <Failure error={error} onRetry={() => void refetch()} /> : <Skeleton height="60rem" />;
}

function ForRole({ account, market }: { account: string; market: Market }) {
    const { admin, pendingAdmin, guardian } = market.config;
    if (account === admin) {
        return (
            <>
                <p className="muted">{words.adminPage.public}</p>
                <SectionBoundary name={words.adminPage.creators}>
                    <CreatorsPanel />
                </SectionBoundary>
                <SectionBoundary name={words.adminPage.stop}>
                    <PausePanel market={market} mayResume />
                </SectionBoundary>
                <SectionBoundary name={words.adminPage.suspend}>
                    <SuspendPanel mayResume />
                </SectionBoundary>
                <SectionBoundary name={words.adminPage.parameters}>
                    <ParametersPanel market={market} />
                </SectionBoundary>
                <SectionBoundary name={words.adminPage.roles}>
                    <RolesPanel market={market} />
                </SectionBoundary>
            </>
        );
    }
    if (account === pendingAdmin && pendingAdmin !== NOBODY) return <AcceptAdmin market={market} />;
    if (account === guardian && guardian !== NOBODY) {
        return (
            <>
                <p className="muted">{words.adminPage.guardian}</p>
                <SectionBoundary name={words.adminPage.stop}>
                    <PausePanel market={market} mayResume={false} />
                </SectionBoundary>
                <SectionBoundary name={words.adminPage.suspend}>
                    <SuspendPanel mayResume={false} />
                </SectionBoundary>
            </>
        );
    }
    return (
        <Notice title={words.adminPage.neither}>
            <p className="row">
                {words.adminPage.adminIs} <RoleHolder address={admin} />
            </p>
            <p className="row">
                {words.adminPage.guardianIs} <RoleHolder address={guardian === NOBODY ? null : guardian} />
            </p>
            <p>{words.adminPage.connect}</p>
        </Notice>
    );
}
