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
import { words } from '../words';

const route = getRouteApi('/admin');

export function CreatorsPanel() {
    const { creator } = route.useSearch();
    return (
        <Panel title={words.creatorsPanel.title}>
            <p>{words.creatorsPanel.about}</p>
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
                label={words.creatorsPanel.wallet}
                value={text}
                onChange={({ target }) => (setText(target.value), setProblem(undefined))}
                error={problem}
                autoComplete="off"
                spellCheck={false}
            />
            <Button type="submit">{words.creatorsPanel.lookUp}</Button>
        </form>
    );
}

const NO_ADDRESS = words.creatorsPanel.badAddress;
const SHOWN_AGENTS = 3;

const COLUMNS = [
    {
        name: words.creatorsPanel.name,
        cell: ({ displayName }: NewCreator) =>
            displayName === '' ? (
                <em className="muted">{words.creatorsPanel.noName}</em>
            ) : (
                <UserText text={displayName} />
            ),
    },
    { name: words.creatorsPanel.creator, cell: ({ wallet }: NewCreator) => <Address value={wallet} /> },
    {
        name: words.creatorsPanel.agents,
        cell: ({ agents }: NewCreator) => (
            <div>
                {agents.slice(0, SHOWN_AGENTS).map((name, index) => (
                    <span key={index}>
                        {index > 0 && ', '}
                        <UserText text={name} />
                    </span>
                ))}
                {agents.length > SHOWN_AGENTS && words.creatorsPanel.andMore(agents.length - SHOWN_AGENTS)}
            </div>
        ),
    },
    {
        name: words.creatorsPanel.badge,
        cell: ({ isVerified }: NewCreator) => (
            <div>
                <Badge kind={isVerified ? 'good' : 'plain'}>
                    {isVerified ? words.creatorsPanel.verified : words.creatorsPanel.noBadge}
                </Badge>
            </div>
        ),
    },
    {
        name: words.creatorsPanel.lookUp,
        cell: ({ wallet, agents }: NewCreator) => (
            <Link
                to="/admin"
                search={{ creator: wallet }}
                resetScroll={false}
                aria-label={words.creatorsPanel.whoOf(visible((agents[0] ?? '').slice(0, 80)))}
            >
                {words.creatorsPanel.who}
            </Link>
        ),
    },
];

function NewCreators() {
    const { data: network } = useQuery(networkQuery);
    const { data, error, refetch } = useQuery(newCreatorsQuery(network?.rpc_url));
    return (
        <>
            <h3>{words.creatorsPanel.caption}</h3>
            {error ? (
                <Failure error={error} onRetry={() => void refetch()} />
            ) : data === undefined ? (
                <Skeleton height="8rem" />
            ) : data.length === 0 ? (
                <p className="muted">{words.creatorsPanel.empty}</p>
            ) : (
                <>
                    <Table
                        caption={words.creatorsPanel.caption}
                        columns={COLUMNS}
                        rows={data}
                        rowKey={({ wallet }) => wallet}
                    />
                    <p className="small muted">{words.creatorsPanel.more(plural(data.length, 'creator'))}</p>
                </>
            )}
        </>
    );
}
