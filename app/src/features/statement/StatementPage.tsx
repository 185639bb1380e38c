// `/statement`: totals of a month, by agent and by API key, to print and to save.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';

import { networkQuery } from '../../shared/api/queries';
import { type TotalFigures, totalsQuery } from '../../shared/api/totals';
import { saveFile } from '../../shared/csv';
import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Select, TextField } from '../../shared/ui/Field';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { keyNamesQuery } from '../executions';
import { SessionGate } from '../wallet';
import { type StatementParts, statementCsv } from './csv';
import { FIRST_MONTH, type StatementSearch, monthName, monthOf, periodOf, readStatementSearch } from './month';
import styles from './Statement.module.css';
import { AgentTable, KeyTable } from './Tables';
import { words } from './words';

const route = getRouteApi('/statement');
const NOBODY: ReadonlyMap<string, string> = new Map();

export function StatementPage() {
    const search = route.useSearch();
    const month = search.month ?? monthOf(new Date());
    return (
        <Page title={words.title} heading={words.heading(monthName(month))}>
            <SessionGate why={words.why}>
                {(account) => <Statement key={account} account={account} month={month} search={search} />}
            </SessionGate>
        </Page>
    );
}

type StatementProps = { account: Address; month: string; search: StatementSearch };

function Statement({ account, month, search }: StatementProps) {
    const isBuyer = search.role === undefined;
    const role = search.role ?? 'caller';
    const period = periodOf(month, new Date());
    const agents = useQuery(totalsQuery(account, { role, by: 'agent', ...period }));
    const keys = useQuery({ ...totalsQuery(account, { role: 'caller', by: 'key', ...period }), enabled: isBuyer });
    const { data: names = NOBODY } = useQuery({ ...keyNamesQuery(account), enabled: isBuyer });
    const error = agents.error ?? keys.error;
    const isKnown = agents.data !== undefined && (!isBuyer || keys.data !== undefined);
    const parts: StatementParts | null = isKnown
        ? {
              wallet: account,
              total: agents.data.total,
              agents: agents.data.groups,
              keys: keys.data?.groups ?? [],
              keyNames: names,
          }
        : null;
    return (
        <>
            <Controls
                month={month}
                search={search}
                onSave={
                    parts &&
                    (() => saveFile(words.file(role, month, account), 'text/csv;charset=utf-8', statementCsv(parts)))
                }
            />
            <Heading account={account} period={period} role={isBuyer ? words.buyer : words.seller} />
            {error !== null && !isKnown && (
                <Failure
                    error={error}
                    onRetry={() => void Promise.all([agents.refetch(), isBuyer && keys.refetch()])}
                />
            )}
            {error === null && !isKnown && <Skeleton height="20rem" />}
            {parts && (
                <Sections
                    parts={parts}
                    isBuyer={isBuyer}
                    isCut={agents.data?.truncated === true || keys.data?.truncated === true}
                />
            )}
        </>
    );
}

type ControlsProps = { month: string; search: StatementSearch; onSave: (() => void) | null };

function Controls({ month, search, onSave }: ControlsProps) {
    const navigate = useNavigate();
    const change = (next: Record<string, unknown>): void =>
        void navigate({ to: '/statement', search: readStatementSearch({ ...search, ...next }), replace: true });
    return (
        <div className={styles.controls}>
            <TextField
                type="month"
                label={words.month}
                value={month}
                min={FIRST_MONTH}
                max={monthOf(new Date())}
                onChange={({ target }) => target.value !== '' && change({ month: target.value })}
            />
            <Select
                label={words.role}
                value={search.role ?? 'caller'}
                onChange={({ target }) => change({ role: target.value })}
            >
                <option value="caller">{words.buyer}</option>
                <option value="creator">{words.seller}</option>
            </Select>
            <span className="row">
                <Button onPress={() => window.print()}>{words.print}</Button>
                <Button isDisabled={onSave === null} onPress={() => onSave?.()}>
                    {words.save}
                </Button>
            </span>
        </div>
    );
}

type HeadingProps = { account: string; period: ReturnType<typeof periodOf>; role: string };

/** Whose statement this is, whole: it is read on paper. */
function Heading({ account, period: { from, to }, role }: HeadingProps) {
    const { data: network } = useQuery(networkQuery);
    const [first, end] = [from.slice(0, 10), to?.slice(0, 10)];
    return (
        <Figures>
            <Figure name={words.wallet} isWide>
                <span className="mono">{account}</span>
            </Figure>
            <Figure name={words.program} isWide>
                <span className="mono">{network?.program_id ?? '\u00a0'}</span>
            </Figure>
            <Figure name={words.network}>{network?.network ?? '\u00a0'}</Figure>
            <Figure name={words.period}>{end === undefined ? words.running(first) : words.whole(first, end)}</Figure>
            <Figure name={words.role}>{role}</Figure>
        </Figures>
    );
}

type SectionsProps = { parts: StatementParts; isBuyer: boolean; isCut: boolean };

const Sections = ({ parts: { total, agents, keys, keyNames }, isBuyer, isCut }: SectionsProps) => (
    <div className={styles.sections}>
        <section className="stack" aria-labelledby="totals">
            <h2 id="totals">{words.totals}</h2>
            <Sums total={total} isBuyer={isBuyer} />
            <p className="small muted">{words.byStart}</p>
            {isCut && <p className="small muted">{words.truncated}</p>}
        </section>
        {total.executions === 0 && <p className="muted">{words.none}</p>}
        {agents.length > 0 && (
            <section className="stack" aria-labelledby="by-agent">
                <h2 id="by-agent">{words.byAgent}</h2>
                <AgentTable groups={agents} />
            </section>
        )}
        {keys.length > 0 && (
            <section className="stack" aria-labelledby="by-key">
                <h2 id="by-key">{words.byKey}</h2>
                <KeyTable groups={keys} names={keyNames} />
            </section>
        )}
    </div>
);

const Sums = ({ total, isBuyer }: { total: TotalFigures; isBuyer: boolean }) => (
    <Figures>
        <Figure name={words.calls}>{formatCount(total.executions)}</Figure>
        <Figure name={words.completed}>{formatCount(total.completed)}</Figure>
        <Figure name={words.failed}>{formatCount(total.failed)}</Figure>
        <Figure name={words.disputed}>{formatCount(total.disputed)}</Figure>
        <Figure name={words.paid}>{words.usdc(formatUsdc(total.paid_usdc))}</Figure>
        <Figure name={isBuyer ? words.toCreators : words.received}>{words.usdc(formatUsdc(total.creator_usdc))}</Figure>
        <Figure name={words.fees}>{words.usdc(formatUsdc(total.platform_usdc))}</Figure>
        <Figure name={words.refunded}>{words.usdc(formatUsdc(total.refunded_usdc))}</Figure>
    </Figures>
);
