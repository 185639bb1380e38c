// The components of `shared/ui` and `shared/plot`, and the cards and rows of agents, with fixed data and in each of their
// states.

import { type ReactNode, useState } from 'react';

import { AgentCard } from '../src/features/browse/AgentCard';
import { AgentTable } from '../src/features/browse/AgentTable';
import { Plot } from '../src/shared/plot/Plot';
import { Sparkline } from '../src/shared/plot/Sparkline';
import { Address } from '../src/shared/ui/Address';
import { Badge } from '../src/shared/ui/Badge';
import { Button, type Look } from '../src/shared/ui/Button';
import { Checklist, ChecklistItem } from '../src/shared/ui/Checklist';
import { Chips } from '../src/shared/ui/Chips';
import { Confirm } from '../src/shared/ui/Confirm';
import { Copy } from '../src/shared/ui/Copy';
import { Countdown } from '../src/shared/ui/Countdown';
import { Empty } from '../src/shared/ui/Empty';
import { ExactTime } from '../src/shared/ui/ExactTime';
import { Failure } from '../src/shared/ui/Failure';
import { Checkbox, Select, TextArea, TextField } from '../src/shared/ui/Field';
import { Figure, Figures } from '../src/shared/ui/Figures';
import { More } from '../src/shared/ui/More';
import { Notice } from '../src/shared/ui/Notice';
import { Page } from '../src/shared/ui/Page';
import { Panel } from '../src/shared/ui/Panel';
import { SectionBoundary } from '../src/shared/ui/SectionBoundary';
import { Skeleton } from '../src/shared/ui/Skeleton';
import { Table } from '../src/shared/ui/Table';
import { Time } from '../src/shared/ui/Time';
import { Toast } from '../src/shared/ui/Toaster';
import { AGENTS, DAYS, type Day, NOW, WALLET } from './data';

const LOOKS: readonly Look[] = ['primary', 'plain', 'danger', 'quiet', 'text'];
const BADGES = ['plain', 'good', 'warn', 'bad', 'accent'] as const;
const NOTICES = ['plain', 'good', 'warn', 'bad'] as const;
const STATES = ['done', 'now', 'later', 'failed', 'skipped'] as const;
const MS_PER_HOUR = 3_600_000;
const CHOICES = [
    { value: 'all', name: 'All', count: 12_040 },
    { value: 'open', name: 'Open', count: 3 },
    { value: 'none', name: 'No count' },
] as const;

const Group = ({ title, children }: { title: string; children: ReactNode }) => <Panel title={title}>{children}</Panel>;

function Buttons() {
    const [isAsking, setAsking] = useState(false);
    return (
        <Group title="Buttons and choices">
            {[false, true].map((isDisabled) => (
                <div key={String(isDisabled)} className="row">
                    {LOOKS.map((look) => (
                        <Button key={look} look={look} isDisabled={isDisabled}>
                            {look}
                        </Button>
                    ))}
                </div>
            ))}
            <Chips label="Choices" chips={CHOICES} isChosen={(value) => value === 'open'} onChoose={() => undefined} />
            <Button onPress={() => setAsking(true)}>Ask</Button>
            {isAsking && (
                <Confirm
                    question="Delist this agent?"
                    label="Delist for good"
                    isDangerous
                    acknowledge="I know that this cannot be undone"
                    onConfirm={() => undefined}
                    onClose={() => setAsking(false)}
                >
                    <p>Nobody can call it any more.</p>
                </Confirm>
            )}
        </Group>
    );
}

const Words = () => (
    <Group title="Words and figures">
        <div className="row">
            {BADGES.map((kind) => (
                <Badge key={kind} kind={kind}>
                    {kind}
                </Badge>
            ))}
        </div>
        <p>
            <Address value={WALLET} /> <Copy text={WALLET} what="address" /> <ExactTime at={NOW.toISOString()} />
        </p>
        <Figures>
            <Figure name="Price of one call">0.01 USDC</Figure>
            <Figure name="Success">98.2 %</Figure>
            <Figure name="A value that needs the whole width" isWide>
                {WALLET}
            </Figure>
        </Figures>
        <p>
            <Time iso={new Date(Date.now() - 3 * MS_PER_HOUR).toISOString()} />,{' '}
            <Countdown to={new Date(Date.now() + 50 * MS_PER_HOUR).toISOString()} over="over" />
        </p>
        <Skeleton height="2rem" />
    </Group>
);

const Fields = () => (
    <Group title="Fields">
        <TextField label="Name" hint="At most 40 characters." defaultValue="nightly reports" />
        <TextField label="Price of one call (USDC)" error="Write an amount, such as 0.05." defaultValue="five" />
        <TextField label="Wallet" disabled defaultValue={WALLET} />
        <TextArea label="What happened" hint="The resolver reads it." rows={3} defaultValue="The result is empty." />
        <Select label="Status">
            <option>Completed</option>
        </Select>
        <Checkbox label="I have saved the key." defaultChecked />
        <Checkbox label="Only agents that I choose" />
    </Group>
);

const Messages = () => (
    <Group title="Messages">
        {NOTICES.map((kind) => (
            <Notice key={kind} kind={kind} title={`A notice, ${kind}`}>
                <p>The service fails at one of four calls.</p>
            </Notice>
        ))}
        <Failure error={new Error('The service does not answer.')} onRetry={() => undefined} />
        <SectionBoundary name="The earnings">
            <Failing />
        </SectionBoundary>
        <Empty title="No execution yet">
            <p>Run an agent to see it here.</p>
        </Empty>
        <Checklist isFramed>
            {STATES.map((state) => (
                <ChecklistItem key={state} title={`A step that is ${state}`} state={state} isWordShown>
                    <p>With some words below.</p>
                </ChecklistItem>
            ))}
        </Checklist>
        <Toast text="The key is revoked." />
    </Group>
);

const COLUMNS = [
    { name: 'Day', cell: ({ day }: Day) => day, place: 'start' as const },
    {
        name: 'Completed',
        cell: ({ completed }: Day) => completed.toString(),
        isNumber: true as const,
        place: 'end' as const,
    },
    { name: 'Failed', cell: ({ failed }: Day) => failed.toString(), isNumber: true as const, place: 'second' as const },
];

function Failing(): ReactNode {
    throw new Error('The answer of the service cannot be read.');
}

const Lists = () => (
    <Group title="Lists">
        <ul style={{ display: 'grid', gap: '1rem', gridTemplateColumns: 'repeat(auto-fill, minmax(18rem, 1fr))' }}>
            {AGENTS.map((agent) => (
                <AgentCard key={agent.agent_id} agent={agent} />
            ))}
        </ul>
        <AgentTable agents={AGENTS} />
        {(['cards', 'lines'] as const).map((narrow) => (
            <Table
                key={narrow}
                caption={narrow}
                columns={COLUMNS}
                rows={DAYS.slice(0, 3)}
                rowKey={({ day }) => day}
                narrow={narrow}
            />
        ))}
        <More
            list={{
                hasNextPage: true,
                isFetching: false,
                isFetchingNextPage: false,
                isError: false,
                fetchNextPage: () => undefined,
            }}
            shown={20}
            what="agents"
        />
    </Group>
);

const MEASURES = [
    {
        name: 'Executions',
        kind: 'bars',
        series: [
            { name: 'Completed', of: ({ completed }: Day) => completed, tone: 'accent' },
            { name: 'Failed', of: ({ failed }: Day) => failed, tone: 'bad' },
        ],
        format: String,
    },
    {
        name: 'Completed alone',
        kind: 'lines',
        series: [{ name: 'Completed', of: ({ completed }: Day) => completed, tone: 'accent' }],
        format: String,
    },
] as const;

const Plots = () => (
    <Group title="Plots">
        <Plot
            title="Executions"
            days={DAYS}
            knownDays={60}
            measures={MEASURES}
            nothing="Nothing happened."
            columns={COLUMNS.slice(1)}
            tableCaption="Executions by day"
            now={NOW}
        />
        <Sparkline values={DAYS.map(({ completed }) => completed)} />
    </Group>
);

/** `?group=Lists` in the URL shows one group alone. */
const GROUPS = { Buttons, Words, Fields, Messages, Lists, Plots };
const wanted = new URLSearchParams(location.search).get('group');

export const Gallery = () => (
    <main id="main" style={{ padding: '1rem', maxWidth: '72rem', margin: '0 auto' }}>
        <Page title="Components">
            {Object.entries(GROUPS).map(([name, Shown]) => (wanted ?? name) === name && <Shown key={name} />)}
        </Page>
    </main>
);
