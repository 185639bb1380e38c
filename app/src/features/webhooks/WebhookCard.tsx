// One webhook: how it does, and what its owner can do with it.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { formatMs, plural } from '../../shared/figures';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Badge } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Notice } from '../../shared/ui/Notice';
import { Time } from '../../shared/ui/Time';
import { Log } from './Log';
import { type Webhook, enable, remove, rotate, sendTest } from './query';
import { Secret } from './Secret';
import styles from './Webhooks.module.css';

const REASONS: Record<string, string> = {
    owner: 'You disabled it.',
    gone: 'The target answered 410: it wants no more events.',
    failing: 'The target acknowledged nothing for five days.',
};

export function WebhookCard({ webhook, account }: { webhook: Webhook; account: string }) {
    const { webhook_id: id, disabled_at: disabledAt, failing_since: failingSince } = webhook;
    const queries = useQueryClient();
    const [isLogOpen, setLogOpen] = useState(false);
    const [isDeleting, setDeleting] = useState(false);
    const onSuccess = (): Promise<void> => queries.invalidateQueries({ queryKey: ['webhooks', account] });
    const enabling = useMutation({ mutationFn: () => enable(account, id), onSuccess });
    const testing = useMutation({ mutationFn: () => sendTest(account, id) });
    const rotating = useMutation({ mutationFn: () => rotate(account, id) });
    const deleting = useMutation({ mutationFn: () => remove(account, id), onSuccess });
    const error = enabling.error ?? testing.error ?? rotating.error ?? deleting.error;
    return (
        <li className={styles.card}>
            <div className={styles.head}>
                <h3>
                    <UserText text={webhook.url} />
                </h3>
                {disabledAt !== null ? (
                    <Badge kind="bad">Disabled</Badge>
                ) : (
                    <Badge kind={failingSince === null ? 'good' : 'warn'}>
                        {failingSince === null ? 'Enabled' : 'Failing'}
                    </Badge>
                )}
            </div>
            {disabledAt !== null && (
                <Notice kind="bad" title="Nothing is sent">
                    <p>
                        {REASONS[webhook.disabled_reason ?? ''] ?? ''} Enable it, and everything that was not
                        acknowledged is sent.
                    </p>
                </Notice>
            )}
            <Figures>
                <Figure name="Events">{webhook.types.length === 0 ? 'All' : webhook.types.join(', ')}</Figure>
                <Figure name="Agents">{webhook.agents.length === 0 ? 'All' : webhook.agents.join(', ')}</Figure>
                <Figure name="Waiting">{plural(webhook.waiting, 'delivery', 'deliveries')}</Figure>
                <Figure name="Failing since">
                    {failingSince === null ? 'It does not fail' : <Time iso={failingSince} />}
                </Figure>
                <Figure name="Made">
                    <Time iso={webhook.created_at} />
                </Figure>
            </Figures>
            <div className="row" role="group" aria-label={`What you can do with ${visible(webhook.url)}`}>
                {disabledAt !== null && (
                    <Button look="primary" onPress={() => enabling.mutate()}>
                        Enable
                    </Button>
                )}
                <Button onPress={() => testing.mutate()}>{testing.isPending ? 'Under way …' : 'Send a test'}</Button>
                <Button aria-expanded={isLogOpen} onPress={() => setLogOpen(!isLogOpen)}>
                    Deliveries
                </Button>
                <Button onPress={() => rotating.mutate()}>New secret</Button>
                <Button look="danger" aria-expanded={isDeleting} onPress={() => setDeleting(!isDeleting)}>
                    Delete
                </Button>
            </div>
            {isDeleting && (
                <div className="row">
                    <p>The webhook and its log are deleted. Events stay in the log of your wallet.</p>
                    <Button look="danger" onPress={() => deleting.mutate()}>
                        Delete for good
                    </Button>
                    <Button look="quiet" onPress={() => setDeleting(false)}>
                        Cancel
                    </Button>
                </div>
            )}
            {error && <Failure error={error} />}
            {testing.data && (
                <div role="status">
                    <Notice
                        kind={testing.data.acknowledged ? 'good' : 'warn'}
                        title={testing.data.acknowledged ? 'Acknowledged' : 'Not acknowledged'}
                    >
                        <p>
                            {testing.data.status === null ? 'No answer' : `Status ${testing.data.status}`} after{' '}
                            {formatMs(testing.data.duration_ms)}. <UserText text={testing.data.answer} />
                        </p>
                    </Notice>
                </div>
            )}
            {rotating.data && <Secret secret={rotating.data.secret}>The old one signs as well for 24 hours.</Secret>}
            {isLogOpen && <Log account={account} webhookId={id} />}
        </li>
    );
}
