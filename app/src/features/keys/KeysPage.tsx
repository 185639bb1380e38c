// `/keys`: the keys of the connected wallet, and the approval that they share.

import type { Address } from '@solana/kit';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { useReadAgain } from '../../shared/readAgain';
import { buttonClass } from '../../shared/ui/Button';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { Checkbox } from '../../shared/ui/Field';
import { More } from '../../shared/ui/More';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import type { TotalFigures, Totals } from '../../shared/api/totals';
import { startOf, totalsQuery } from '../executions';
import { SessionGate } from '../wallet';
import { Approval } from './Approval';
import { fundsQuery, grantOf, isLive } from './funds';
import { KeyCard } from './KeyCard';
import styles from './Keys.module.css';
import { NoNode } from './NoNode';
import { keysQuery } from './query';
import { Unregistered } from './Unregistered';
import { words } from './words';

export const KeysPage = () => (
    <Page title={words.title}>
        <p className="muted">{words.intro}</p>
        <SessionGate why={words.whySignIn}>{(account) => <Keys key={account} account={account} />}</SessionGate>
    </Page>
);

function Keys({ account }: { account: Address }) {
    const { data: network } = useQuery(networkQuery);
    const list = useInfiniteQuery(keysQuery(account));
    const chain = useQuery(fundsQuery(account, network));
    const spend = useQuery(totalsQuery(account, 'key', { from: startOf('days30') }));
    // What the service says of the keys changes with every call and every grant.
    useReadAgain(list.data, ['balances', 'execution-totals']);
    const [withRevoked, setWithRevoked] = useState(false);
    const [said, setSaid] = useState('');
    const funds = chain.data?.[0];
    const keys = list.data?.pages.flatMap((page) => page.keys);
    // A key is not over while the chain still lets it open executions, even if the service refuses it.
    const isOver = (key: { state: string; session_public_key: string }): boolean => {
        const grant = funds && grantOf(funds, key.session_public_key);
        return key.state === 'revoked' && !(funds && grant && isLive(grant, funds.now));
    };
    const shown = keys?.filter((key) => withRevoked || !isOver(key));
    const over = (keys?.length ?? 0) - (keys?.filter((key) => !isOver(key)).length ?? 0);
    return (
        <>
            <div className="row">
                <Link to="/keys/new" className={buttonClass('primary')}>
                    {words.newTitle}
                </Link>
            </div>
            <p role="status" className="visually-hidden">
                {said}
            </p>
            {said !== '' && (
                <Notice kind="good">
                    <p>{said}</p>
                </Notice>
            )}
            {network && <Unregistered wallet={account} network={network} />}
            {network?.rpc_url === null && <NoNode />}
            {network?.rpc_url !== null && (
                <Approval
                    account={account}
                    network={network}
                    funds={funds}
                    error={chain.error}
                    onRetry={() => void chain.refetch()}
                />
            )}
            {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
            <section className="stack" aria-labelledby="keys">
                <div className={styles.head}>
                    <h2 id="keys">{words.list}</h2>
                    {over > 0 && (
                        <Checkbox
                            label={words.showRevoked(over)}
                            checked={withRevoked}
                            onChange={(event) => setWithRevoked(event.target.checked)}
                        />
                    )}
                </div>
                {shown?.length === 0 && <NoKeys hasOld={over > 0} />}
                {shown?.some((key) => key.calls_left_by_approval !== null) === true && (
                    <p className="small muted">{words.approvalNote}</p>
                )}
                <ul className={styles.keys} aria-busy={list.isPending}>
                    {list.isPending && (
                        <li>
                            <Skeleton height="14rem" />
                        </li>
                    )}
                    {shown?.map((key) => (
                        <KeyCard
                            key={key.session_public_key}
                            apiKey={key}
                            account={account}
                            network={network}
                            chain={chain.data}
                            spend={spend.data && spendOf(spend.data, key.session_public_key)}
                            onSaid={setSaid}
                        />
                    ))}
                </ul>
                {list.hasNextPage && <More list={list} shown={keys?.length ?? 0} what={words.one} />}
            </section>
        </>
    );
}

/** `null`: nothing. */
const spendOf = ({ groups }: Totals, sessionKey: string): TotalFigures | null =>
    groups.find((group) => group.session_public_key === sessionKey) ?? null;

const NoKeys = ({ hasOld }: { hasOld: boolean }) => (
    <Empty title={hasOld ? words.noKeyInUse : words.noKey}>
        <p>{words.noKeyHint}</p>
    </Empty>
);
