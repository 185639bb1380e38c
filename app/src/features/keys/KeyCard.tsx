// One key: its state, how much of its caps is used, and what its owner can do with it.

import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { formatCount, plural } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
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
import { CapBar } from './CapBar';
import { ChangeLimits } from './ChangeLimits';
import { type Costs, type Funds, grantOf, isLive } from './funds';
import styles from './Keys.module.css';
import type { ActionProps, PanelProps } from './panel';
import type { Key, KeyState } from './query';
import { RegisterKey } from './RegisterKey';
import { Rename } from './Rename';
import { Revoke } from './Revoke';

const STATES: Record<KeyState, { words: string; kind: NonNullable<BadgeProps['kind']> }> = {
    active: { words: 'Active', kind: 'good' },
    pending: { words: 'Not indexed yet', kind: 'accent' },
    unregistered: { words: 'Not registered', kind: 'warn' },
    expired: { words: 'Expired', kind: 'warn' },
    exhausted: { words: 'Used up', kind: 'warn' },
    revoked: { words: 'Revoked', kind: 'bad' },
};

const HINTS: Partial<Record<KeyState, string>> = {
    pending: 'The chain has the grant. In a moment its limits stand here.',
    unregistered:
        'Your wallet has granted this on the chain, and nobody has registered the key. Register it if you have the key, or revoke it.',
    expired: 'It opens no calls until you let it live longer.',
    exhausted: 'It opens no calls until you raise what it may spend.',
};

export type KeyCardProps = Omit<ActionProps, 'network' | 'chain' | 'isOpenOnChain'> & {
    network: Schemas['NetworkResponse'] | undefined;
    chain: [Funds, Costs] | undefined;
};

export function KeyCard({ apiKey, account, network, chain, onSaid }: KeyCardProps) {
    const { name, state, session_public_key: sessionKey } = apiKey;
    const grant = chain && grantOf(chain[0], sessionKey);
    const isOpenOnChain = chain !== undefined && grant !== undefined && isLive(grant, chain[0].now);
    const { words, kind } = STATES[state];
    const hint =
        state === 'revoked' && isOpenOnChain
            ? 'This service refuses the key. Its grant on the chain is still there: end it, too.'
            : HINTS[state];
    return (
        <li className={styles.card}>
            <div className={styles.head}>
                <h3>{name === null ? 'Key without a name' : <UserText text={name} />}</h3>
                <Badge kind={kind}>{words}</Badge>
            </div>
            {hint !== undefined && <p className="small muted">{hint}</p>}
            {apiKey.spent_of_cap_usdc !== null && (
                <CapBar
                    label={`Spent with ${name === null ? short(sessionKey) : visible(name)}`}
                    spent={apiKey.spent_of_cap_usdc}
                    cap={apiKey.total_cap_usdc ?? null}
                />
            )}
            {apiKey.daily_cap_usdc !== null && apiKey.spent_today_usdc !== null && (
                <CapBar
                    label={`Spent today with ${name === null ? short(sessionKey) : visible(name)}`}
                    spent={apiKey.spent_today_usdc}
                    cap={apiKey.daily_cap_usdc}
                    when=" today (UTC)"
                />
            )}
            <Facts apiKey={apiKey} />
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

const Facts = ({ apiKey }: { apiKey: Key }) => (
    <Figures>
        <Figure name="Key">
            <span className="mono">
                {apiKey.prefix}…{apiKey.last_four ?? ''}
            </span>
        </Figure>
        <Figure name="Most for one call">
            {apiKey.per_call_cap_usdc === null ? 'No limit' : `${formatUsdc(apiKey.per_call_cap_usdc)} USDC`}
        </Figure>
        <Figure name="Most for one day">
            {apiKey.daily_cap_usdc === null ? 'No limit' : `${formatUsdc(apiKey.daily_cap_usdc)} USDC`}
        </Figure>
        <Figure name="Calls left by approval">
            {apiKey.calls_left_by_approval === null ? '–' : `At least ${formatCount(apiKey.calls_left_by_approval)}`}
        </Figure>
        <Figure name="Ends">
            {apiKey.expires_at === null ? 'Never' : <Countdown to={apiKey.expires_at} over="It has ended" />}
        </Figure>
        <Figure name="Calls">
            {plural(apiKey.execution_count, 'ended call')}, {formatUsdc(apiKey.total_spent_usdc)} USDC paid
        </Figure>
        <Figure name="Last used">{apiKey.last_used_at === null ? 'Never' : <Time iso={apiKey.last_used_at} />}</Figure>
        <Figure name="Made">
            <Time iso={apiKey.created_at} />
        </Figure>
        <Figure name="May call">
            {apiKey.allowed_agents.length === 0
                ? 'Every agent'
                : apiKey.allowed_agents.map((agentId, index) => (
                      <span key={agentId}>
                          {index > 0 && ', '}
                          <Link to="/agents/$agentId" params={{ agentId }}>
                              <AgentName agentId={agentId} />
                          </Link>
                      </span>
                  ))}
        </Figure>
        <Figure name="Session public key">
            <ShownAddress value={apiKey.session_public_key} what="session public key" />
        </Figure>
    </Figures>
);

type Panel = 'rename' | 'limits' | 'register' | 'revoke';

const PANELS: readonly { panel: Panel; words: string; fits: (props: ActionProps) => boolean }[] = [
    { panel: 'register', words: 'Register', fits: ({ apiKey }) => apiKey.state === 'unregistered' },
    {
        panel: 'rename',
        words: 'Rename',
        fits: ({ apiKey: { state } }) => state !== 'unregistered' && state !== 'revoked',
    },
    {
        panel: 'limits',
        words: 'Change the limits',
        fits: ({ apiKey: { state } }) => state !== 'revoked' && state !== 'pending',
    },
    {
        panel: 'revoke',
        words: 'Revoke',
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
                <div className="row" role="group" aria-label={`What you can do with ${visible(name)}`}>
                    {offered.map(({ panel, words }) => (
                        <Button
                            key={panel}
                            look={panel === 'revoke' ? 'danger' : 'plain'}
                            aria-expanded={open === panel}
                            onPress={() => setOpen(open === panel ? null : panel)}
                        >
                            {words}
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
