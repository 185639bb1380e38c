// The webhooks of a wallet, or those of them that hear of one agent, and the form of a new one.

import { useQuery } from '@tanstack/react-query';

import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { Skeleton } from '../../shared/ui/Skeleton';
import { NewWebhook } from './NewWebhook';
import { type Webhook, webhooksQuery } from './query';
import { WebhookCard } from './WebhookCard';
import styles from './Webhooks.module.css';
import { words } from './words';

export type WebhooksProps = {
    account: string;
    /** Only those that hear of this agent. */
    agentId?: string;
};

/** A webhook without agents hears of all of them. */
const hearsOf = ({ agents }: Webhook, agentId: string | undefined): boolean =>
    agentId === undefined || agents.length === 0 || agents.includes(agentId);

export default function Webhooks({ account, agentId }: WebhooksProps) {
    const { data, error, isPending, refetch } = useQuery(webhooksQuery(account));
    const found = data?.webhooks.filter((webhook) => hearsOf(webhook, agentId));
    const isOfAgent = agentId !== undefined;
    return (
        <div className={styles.parts}>
            {error && <Failure error={error} onRetry={() => void refetch()} />}
            <section className="stack" aria-labelledby="webhooks">
                <h2 id="webhooks">{isOfAgent ? words.list.ofAgent : words.list.title}</h2>
                {found?.length === 0 &&
                    (isOfAgent ? (
                        <p className="muted">{words.list.noneOfAgent}</p>
                    ) : (
                        <Empty title={words.list.none}>
                            <p>{words.list.howToBegin}</p>
                        </Empty>
                    ))}
                <ul className={styles.list} aria-busy={isPending}>
                    {isPending && (
                        <li>
                            <Skeleton height="10rem" />
                        </li>
                    )}
                    {found?.map((webhook) => (
                        <WebhookCard key={webhook.webhook_id} webhook={webhook} account={account} />
                    ))}
                </ul>
            </section>
            <NewWebhook account={account} agentId={agentId} />
        </div>
    );
}
