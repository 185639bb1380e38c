// One webhook: how it does, and what its owner can do with it.

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Fragment, useState } from 'react';

import { formatMs } from '../../shared/figures';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Badge } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { Confirm } from '../../shared/ui/Confirm';
import { Failure } from '../../shared/ui/Failure';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Notice } from '../../shared/ui/Notice';
import { Time } from '../../shared/ui/Time';
import { AgentName } from '../agent';
import { Log } from './Log';
import { type Webhook, enable, remove, rotate, sendTest } from './query';
import { Secret } from './Secret';
import styles from './Webhooks.module.css';
import { words } from './words';

const w = words.card;
const REASONS: Record<string, string> = w.reasons;

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
                    <Badge kind="bad">{w.disabled}</Badge>
                ) : (
                    <Badge kind={failingSince === null ? 'good' : 'warn'}>
                        {failingSince === null ? w.enabled : w.failing}
                    </Badge>
                )}
            </div>
            {disabledAt !== null && (
                <Notice kind="bad" title={w.nothingSent}>
                    <p>
                        {REASONS[webhook.disabled_reason ?? ''] ?? ''} {w.enableAgain}
                    </p>
                </Notice>
            )}
            <Figures>
                <Figure name={w.events}>{webhook.types.length === 0 ? w.all : webhook.types.join(', ')}</Figure>
                <Figure name={w.agents}>
                    {webhook.agents.length === 0 ? w.all : <AgentNames agents={webhook.agents} />}
                </Figure>
                <Figure name={w.waiting}>{w.deliveries(webhook.waiting)}</Figure>
                <Figure name={w.failingSince}>
                    {failingSince === null ? w.doesNotFail : <Time iso={failingSince} />}
                </Figure>
                <Figure name={w.created}>
                    <Time iso={webhook.created_at} />
                </Figure>
            </Figures>
            <div className="row" role="group" aria-label={w.actions(visible(webhook.url))}>
                {disabledAt !== null && (
                    <Button look="primary" onPress={() => enabling.mutate()}>
                        {w.enable}
                    </Button>
                )}
                <Button onPress={() => testing.mutate()}>{testing.isPending ? words.underWay : w.test}</Button>
                <Button aria-expanded={isLogOpen} onPress={() => setLogOpen(!isLogOpen)}>
                    {w.log}
                </Button>
                <Button onPress={() => rotating.mutate()}>{w.newSecret}</Button>
                <Button look="danger" onPress={() => setDeleting(true)}>
                    {w.delete}
                </Button>
            </div>
            {isDeleting && (
                <Confirm
                    question={w.deleteQuestion}
                    label={w.deleteForGood}
                    isDangerous
                    onConfirm={() => deleting.mutate()}
                    onClose={() => setDeleting(false)}
                >
                    <p>
                        <UserText text={webhook.url} />
                    </p>
                    <p>{w.deleteEffects}</p>
                </Confirm>
            )}
            {error && <Failure error={error} />}
            {testing.data && (
                <div role="status">
                    <Notice
                        kind={testing.data.acknowledged ? 'good' : 'warn'}
                        title={testing.data.acknowledged ? w.acknowledged : w.notAcknowledged}
                    >
                        <p>
                            {w.answered(testing.data.status, formatMs(testing.data.duration_ms))}{' '}
                            <UserText text={testing.data.answer} />
                        </p>
                    </Notice>
                </div>
            )}
            {rotating.data && <Secret secret={rotating.data.secret}>{w.oldSecret}</Secret>}
            {isLogOpen && <Log account={account} webhookId={id} />}
        </li>
    );
}

const AgentNames = ({ agents }: { agents: readonly string[] }) =>
    agents.map((agentId, index) => (
        <Fragment key={agentId}>
            {index > 0 && ', '}
            <AgentName agentId={agentId} />
        </Fragment>
    ));
