// `/creator`: a creator's agents, what they earn, what waits for the creator, the profile, and where calls come from.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { networkQuery } from '../../shared/api/queries';
import { buttonClass } from '../../shared/ui/Button';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { WalletGate } from '../wallet';
import { AgentsTable } from './AgentsTable';
import { Attention } from './Attention';
import styles from './Creator.module.css';
import { Earnings } from './earnings/Earnings';
import { Outbound } from './Outbound';
import { MY_DISPUTES, MY_EXECUTIONS, NEW_AGENT } from './paths';
import { ProfileSection } from './Profile';
import { ownListingsQuery, walletQuery } from './query';
import { rowsOf, sumsOf } from './rows';
import { Totals } from './Totals';
import { words } from './words';

export const CreatorPage = () => (
    <Page title={words.title}>
        <WalletGate why={words.why}>{(account) => <Creator key={account} wallet={account} />}</WalletGate>
    </Page>
);

function Creator({ wallet }: { wallet: Address }) {
    const { data: network } = useQuery(networkQuery);
    const rpcUrl = network?.rpc_url ?? null;
    const service = useQuery(walletQuery(wallet));
    const chain = useQuery(ownListingsQuery(wallet, rpcUrl));
    // If pages may use no node, only the index is left to ask.
    const isServiceAlone = network !== undefined && rpcUrl === null;
    const isKnown = chain.data !== undefined || (isServiceAlone && service.data !== undefined);
    const rows = isKnown ? rowsOf(chain.data ?? null, service.data) : [];
    const { openDisputes } = sumsOf(rows);
    const error = chain.error ?? (service.data === undefined ? service.error : null);
    const retry = (): void => void Promise.all([chain.refetch(), service.refetch()]);
    return (
        <>
            <p className={styles.actions}>
                <Link to={NEW_AGENT} className={buttonClass('primary')}>
                    {words.listNew}
                </Link>
                <Link to={MY_EXECUTIONS} className={buttonClass()}>
                    {words.executions}
                </Link>
                <Link to={MY_DISPUTES} className={buttonClass()}>
                    {words.disputes}
                    {openDisputes > 0 && words.openDisputes(openDisputes)}
                </Link>
            </p>
            <Totals rows={isKnown ? rows : null} totals={service.data?.totals} />
            {chain.data && <Attention rows={rows} chain={chain.data} />}
            <div className={styles.sections}>
                <section aria-labelledby="agents" className="stack">
                    <h2 id="agents">{isKnown && rows.length > 0 ? words.count(rows.length) : words.agents}</h2>
                    {error !== null && <Failure error={error} onRetry={retry} />}
                    {!isKnown ? (
                        error === null && <Skeleton height="14rem" />
                    ) : rows.length === 0 ? (
                        <NoAgents />
                    ) : (
                        <AgentsTable rows={rows} />
                    )}
                </section>
                <Earnings wallet={wallet} />
                <div className={styles.lower}>
                    <ProfileSection wallet={wallet} rpcUrl={rpcUrl} />
                    <Outbound network={network} />
                </div>
            </div>
        </>
    );
}

const NoAgents = () => (
    <Empty title={words.none}>
        <p>{words.noneText}</p>
    </Empty>
);
