// Verification of creators: find one, see who it is, give or take the badge.

import { isAddress } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';

import { networkQuery } from '../../../shared/api/queries';
import { plural } from '../../../shared/figures';
import { UserText } from '../../../shared/text/UserText';
import { visible } from '../../../shared/text/visible';
import { Address } from '../../../shared/ui/Address';
import { Badge } from '../../../shared/ui/Badge';
import { Button } from '../../../shared/ui/Button';
import { Failure } from '../../../shared/ui/Failure';
import { TextField } from '../../../shared/ui/Field';
import { Panel } from '../../../shared/ui/Panel';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { Table } from '../../../shared/ui/Table';
import styles from '../Admin.module.css';
import { Creator } from './Creator';
import { type NewCreator, newCreatorsQuery } from './query';

const route = getRouteApi('/admin');

export function CreatorsPanel() {
    const { creator } = route.useSearch();
    return (
        <Panel title="Verify creators">
            <p>
                The badge says that you checked who a creator is, outside of the chain. It is for the name that the
                creator has now.
            </p>
            <Lookup key={creator} creator={creator ?? ''} />
            {creator !== undefined && isAddress(creator) && <Creator key={`of ${creator}`} wallet={creator} />}
            <NewCreators />
        </Panel>
    );
}

function Lookup({ creator }: { creator: string }) {
    const [text, setText] = useState(creator);
    const [problem, setProblem] = useState<string | undefined>(
        creator === '' || isAddress(creator) ? undefined : NO_ADDRESS,
    );
    const navigate = useNavigate();
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        const wallet = text.trim();
        if (!isAddress(wallet)) return setProblem(NO_ADDRESS);
        void navigate({ to: '/admin', search: { creator: wallet }, resetScroll: false });
    };
    return (
        <form className={styles.lookup} onSubmit={submit} noValidate>
            <TextField
                label="Wallet of the creator"
                value={text}
                onChange={({ target }) => (setText(target.value), setProblem(undefined))}
                error={problem}
                autoComplete="off"
                spellCheck={false}
            />
            <Button type="submit">Look up</Button>
        </form>
    );
}

const NO_ADDRESS = 'This is no address of a wallet: 32 to 44 letters and digits.';
const SHOWN_AGENTS = 3;

const COLUMNS = [
    {
        name: 'Display name',
        cell: ({ displayName }: NewCreator) =>
            displayName === '' ? <em className="muted">none</em> : <UserText text={displayName} />,
    },
    { name: 'Creator', cell: ({ wallet }: NewCreator) => <Address value={wallet} /> },
    {
        name: 'Agents',
        cell: ({ agents }: NewCreator) => (
            <div>
                {agents.slice(0, SHOWN_AGENTS).map((name, index) => (
                    <span key={index}>
                        {index > 0 && ', '}
                        <UserText text={name} />
                    </span>
                ))}
                {agents.length > SHOWN_AGENTS && ` and ${agents.length - SHOWN_AGENTS} more`}
            </div>
        ),
    },
    {
        name: 'Badge',
        cell: ({ isVerified }: NewCreator) => (
            <div>
                <Badge kind={isVerified ? 'good' : 'plain'}>{isVerified ? 'Verified' : 'None'}</Badge>
            </div>
        ),
    },
    {
        name: 'Look up',
        cell: ({ wallet, agents }: NewCreator) => (
            <Link
                to="/admin"
                search={{ creator: wallet }}
                resetScroll={false}
                aria-label={`Who is this? The creator of ${visible((agents[0] ?? '').slice(0, 80))}`}
            >
                Who is this?
            </Link>
        ),
    },
];

function NewCreators() {
    const { data: network } = useQuery(networkQuery);
    const { data, error, refetch } = useQuery(newCreatorsQuery(network?.rpc_url));
    return (
        <>
            <h3>Creators of the newest agents</h3>
            {error ? (
                <Failure error={error} onRetry={() => void refetch()} />
            ) : data === undefined ? (
                <Skeleton height="8rem" />
            ) : data.length === 0 ? (
                <p className="muted">No agent is listed yet.</p>
            ) : (
                <>
                    <Table
                        caption="Creators of the newest agents"
                        columns={COLUMNS}
                        rows={data}
                        rowKey={({ wallet }) => wallet}
                    />
                    <p className="small muted">{plural(data.length, 'creator')}. Search for agents to find others.</p>
                </>
            )}
        </>
    );
}
