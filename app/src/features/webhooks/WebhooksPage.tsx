// `/webhooks`: the webhooks of the connected wallet.

import { useQuery } from '@tanstack/react-query';

import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { SessionGate } from '../wallet';
import { NewWebhook } from './NewWebhook';
import { webhooksQuery } from './query';
import { WebhookCard } from './WebhookCard';
import styles from './Webhooks.module.css';

export const WebhooksPage = () => (
    <Page title="Webhooks">
        <p className="muted">
            The events of your wallet are sent to a URL of yours as they happen: calls, payouts, disputes, listings and
            keys.
        </p>
        <SessionGate why="The webhooks of a wallet are shown to that wallet alone.">
            {(account) => <Webhooks key={account} account={account} />}
        </SessionGate>
    </Page>
);

function Webhooks({ account }: { account: string }) {
    const { data, error, isPending, refetch } = useQuery(webhooksQuery(account));
    return (
        <>
            {error && <Failure error={error} onRetry={() => void refetch()} />}
            <section className="stack" aria-labelledby="webhooks">
                <h2 id="webhooks">Your webhooks</h2>
                {data?.webhooks.length === 0 && (
                    <Empty title="No webhook yet">
                        <p>Make one below, or develop without a public address: crtx listen.</p>
                    </Empty>
                )}
                <ul className={styles.list} aria-busy={isPending}>
                    {isPending && (
                        <li>
                            <Skeleton height="10rem" />
                        </li>
                    )}
                    {data?.webhooks.map((webhook) => (
                        <WebhookCard key={webhook.webhook_id} webhook={webhook} account={account} />
                    ))}
                </ul>
            </section>
            <NewWebhook account={account} />
        </>
    );
}
