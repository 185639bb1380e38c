// One key: its state, how much of its caps is used, and what its owner can do with it.

import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { visible } from '../../shared/text/visible';
import { Address as ShownAddress } from '../../shared/ui/Address';
import { Badge, type BadgeProps } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { Countdown } from '../../shared/ui/Countdown';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Time } from '../../shared/ui/Time';
import { AgentName } from '../agent';
import type { TotalFigures } from '../../shared/api/totals';
import { CapBar } from './CapBar';
import { ChangeLimits } from './ChangeLimits';
import { type Costs, type Funds, grantOf, isLive } from './funds';
import styles from './Keys.module.css';
import type { ActionProps, PanelProps } from './panel';
import type { Key, KeyState } from './query';
import { RegisterKey } from './RegisterKey';
import { Rename } from './Rename';
import { Revoke } from './Revoke';
import { words } from './words';

const KINDS: Record<KeyState, NonNullable<BadgeProps['kind']>> = {
    active: 'good',
    pending: 'accent',
    unregistered: 'warn',
    expired: 'warn',
    exhausted: 'warn',
    revoked: 'bad',
};

export type KeyCardProps = Omit<ActionProps, 'network' | 'chain' | 'isOpenOnChain'> & {
    network: Schemas['NetworkResponse'] | undefined;
    chain: [Funds, Costs] | undefined;
    /** Of the last 30 days; `null`: nothing, `undefined`: not known. */
    spend: TotalFigures | null | undefined;
};

export function KeyCard({ apiKey, account, network, chain, spend, onSaid }: KeyCardProps) {
    const { name, state, session_public_key: sessionKey } = apiKey;
    const grant = chain && grantOf(chain[0], sessionKey);
    const isOpenOnChain = chain !== undefined && grant !== undefined && isLive(grant, chain[0].now);
    const hint = state === 'revoked' && isOpenOnChain ? words.onlyOnChain : words.hints[state];
    return (
        <li className={styles.card}>
            <div className={styles.head}>
                <h3>{name === null ? words.noName : <UserText text={name} />}</h3>
                <Badge kind={KINDS[state]}>{words.states[state]}</Badge>
            </div>
            {hint !== undefined && <p className="small muted">{hint}</p>}
            {apiKey.spent_of_cap_usdc !== null && (
                <CapBar
                    label={words.spentWith(name === null ? short(sessionKey) : visible(name))}
                    spent={apiKey.spent_of_cap_usdc}
                    cap={apiKey.total_cap_usdc ?? null}
                />
            )}
            {apiKey.daily_cap_usdc !== null && apiKey.spent_today_usdc !== null && (
                <CapBar
                    label={words.spentTodayWith(name === null ? short(sessionKey) : visible(name))}
                    spent={apiKey.spent_today_usdc}
                    cap={apiKey.daily_cap_usdc}
                    when={words.today}
                />
            )}
            <Facts apiKey={apiKey} spend={spend} />
            {network && chain && (
                <Actions
                    apiKey={apiKey}
                    account={account}
                    network={network}
                    chain={chain}
                    onSaid={onSaid}
                    isOpenOnChain={isOpenOnChain}
                />
            )}
        </li>
    );
}

const Facts = ({ apiKey, spend }: { apiKey: Key; spend: TotalFigures | null | undefined }) => (
    <Figures>
        <Figure name={words.key}>
            <span className="mono">
                {apiKey.prefix}…{apiKey.last_four ?? ''}
            </span>
        </Figure>
        <Figure name={words.perCall}>
            {apiKey.per_call_cap_usdc === null ? words.noLimit : words.amount(apiKey.per_call_cap_usdc)}
        </Figure>
        <Figure name={words.perDay}>
            {apiKey.daily_cap_usdc === null ? words.noLimit : words.amount(apiKey.daily_cap_usdc)}
        </Figure>
        <Figure name={words.callsLeft}>
            {apiKey.calls_left_by_approval === null ? words.unknown : words.atLeast(apiKey.calls_left_by_approval)}
        </Figure>
        <Figure name={words.ends}>
            {apiKey.expires_at === null ? words.never : <Countdown to={apiKey.expires_at} over={words.hasEnded} />}
        </Figure>
        <Figure name={words.allTime}>{words.spent(apiKey.total_spent_usdc, apiKey.execution_count)}</Figure>
        <Figure name={words.spent30Days}>
            {spend === undefined ? words.unknown : words.spent(spend?.paid_usdc ?? 0n, spend?.executions ?? 0)}
        </Figure>
        <Figure name={words.lastUsed}>
            {apiKey.last_used_at === null ? words.never : <Time iso={apiKey.last_used_at} />}
        </Figure>
        <Figure name={words.made}>
            <Time iso={apiKey.created_at} />
        </Figure>
        <Figure name={words.mayCall}>
            {apiKey.allowed_agents.length === 0
                ? words.everyAgent
                : apiKey.allowed_agents.map((agentId, index) => (
                      <span key={agentId}>
                          {index > 0 && ', '}
                          <Link to="/agents/$agentId" params={{ agentId }}>
                              <AgentName agentId={agentId} />
                          </Link>
                      </span>
                  ))}
        </Figure>
        <Figure name={words.publicKey}>
            <ShownAddress value={apiKey.session_public_key} what={words.publicKeyCopy} />
        </Figure>
    </Figures>
);

type Panel = 'rename' | 'limits' | 'register' | 'revoke';

const PANELS: readonly { panel: Panel; label: string; fits: (props: ActionProps) => boolean }[] = [
    { panel: 'register', label: words.register, fits: ({ apiKey }) => apiKey.state === 'unregistered' },
    {
        panel: 'rename',
        label: words.rename,
        fits: ({ apiKey: { state } }) => state !== 'unregistered' && state !== 'revoked',
    },
    {
        panel: 'limits',
        label: words.changeLimits,
        fits: ({ apiKey: { state } }) => state !== 'revoked' && state !== 'pending',
    },
    {
        panel: 'revoke',
        label: words.revoke,
        fits: ({ apiKey: { state }, isOpenOnChain }) => state !== 'revoked' || isOpenOnChain,
    },
];

function Actions(props: ActionProps) {
    const [open, setOpen] = useState<Panel | null>(null);
    const offered = PANELS.filter(({ fits }) => fits(props));
    const panelProps: PanelProps = { ...props, onClose: () => setOpen(null) };
    const name = props.apiKey.name ?? short(props.apiKey.session_public_key);
    return (
        <>
            {offered.length > 0 && (
                <div className="row" role="group" aria-label={words.actions(visible(name))}>
                    {offered.map(({ panel, label }) => (
                        <Button
                            key={panel}
                            look={panel === 'revoke' ? 'danger' : 'plain'}
                            aria-expanded={open === panel}
                            onPress={() => setOpen(open === panel ? null : panel)}
                        >
                            {label}
                        </Button>
                    ))}
                </div>
            )}
            {open === 'register' && <RegisterKey {...panelProps} />}
            {open === 'rename' && <Rename {...panelProps} />}
            {open === 'limits' && <ChangeLimits {...panelProps} />}
            {open === 'revoke' && <Revoke {...panelProps} />}
        </>
    );
}
