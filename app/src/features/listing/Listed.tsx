// After the signature: the agent is on chain, and this page says when the service shows it.

import type { Address } from '@solana/kit';
import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../shared/api/client';
import { accountLink } from '../../shared/explorer';
import { Address as ShownAddress } from '../../shared/ui/Address';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { ShownState } from './ShownState';
import { words } from './words';

export type ListedProps = { agentId: string; network: Schemas['NetworkResponse']; onAnother: () => void };

export const Listed = ({ agentId, network, onAnother }: ListedProps) => (
    <div className="stack">
        <Notice kind="good" title={words.listed.title}>
            <div className="row">
                <span>{words.listed.address}</span>
                <ShownAddress
                    value={agentId}
                    what={words.listed.addressCopy}
                    ends={6}
                    href={accountLink(network, agentId)}
                />
            </div>
        </Notice>
        <ShownState agentId={agentId as Address} network={network} />
        <div className="row">
            <Link to="/agents/$agentId" params={{ agentId }} className={buttonClass('primary')}>
                {words.listed.open}
            </Link>
            <Link to="/creator/agents/$agentId/test" params={{ agentId }} className={buttonClass()}>
                {words.listed.test}
            </Link>
            <Link to="/creator/agents/$agentId/edit" params={{ agentId }} className={buttonClass()}>
                {words.listed.edit}
            </Link>
            <Button onPress={onAnother}>{words.listed.another}</Button>
        </div>
    </div>
);
