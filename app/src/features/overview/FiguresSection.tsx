// The figures of a wallet: what it holds, what it spent and earned in 30 days, and how its calls went.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { networkQuery } from '../../shared/api/queries';
import type { Totals, TotalsGroup } from '../../shared/api/totals';
import { formatShare } from '../../shared/figures';
import { formatSol, formatUsdc } from '../../shared/money';
import { Sparkline } from '../../shared/plot/Sparkline';
import { windowOf } from '../../shared/plot/window';
import { Skeleton } from '../../shared/ui/Skeleton';
import { balancesQuery } from '../../shared/wallet/balances';
import styles from './Overview.module.css';
import { isDay } from './days';
import { words } from './words';

const DAYS = 30;
const NOTHING = { executions: 0, completed: 0, failed: 0, disputed: 0 };

/** `null`: it could not be read. `undefined`: not yet. */
export type Sums = Totals | null | undefined;
export type FiguresProps = { account: Address; spent: Sums; earned: Sums; now: Date };

export const FiguresSection = ({ account, spent, earned, now }: FiguresProps) => (
    <section aria-label={words.figures}>
        <dl className={styles.figures}>
            <Balance account={account} />
            <Money name={words.spent} sums={spent} now={now} of={({ paid_usdc }) => paid_usdc}>
                {(days) => words.calls(sum(days, ({ executions }) => executions))}
            </Money>
            <Money name={words.earned} sums={earned} now={now} of={({ creator_usdc }) => creator_usdc}>
                {(days) => words.fees(formatUsdc(days.reduce((all, day) => all + day.platform_usdc, 0n)))}
            </Money>
            <Success spent={spent} earned={earned} now={now} />
        </dl>
    </section>
);

const Card = ({ name, children }: { name: string; children: ReactNode }) => (
    <div className={styles.card}>
        <dt>{name}</dt>
        {children}
    </div>
);

function Balance({ account }: { account: Address }) {
    const { data: network } = useQuery(networkQuery);
    const { data } = useQuery({
        ...balancesQuery(account, network?.rpc_url ?? null, network?.usdc_mint ?? ''),
        refetchInterval: false,
    });
    if (network?.rpc_url === null) {
        return (
            <Card name={words.balance}>
                <dd className="small muted">{words.noNode}</dd>
            </Card>
        );
    }
    return (
        <Card name={words.balance}>
            <dd className={styles.value}>{data ? words.usdc(formatUsdc(data.usdc)) : <Waiting />}</dd>
            <dd className="small muted number">{data ? words.sol(formatSol(data.lamports)) : '\u00a0'}</dd>
        </Card>
    );
}

const Waiting = () => <Skeleton height="2rem" width="8rem" />;

type MoneyProps = {
    name: string;
    sums: Sums;
    now: Date;
    of: (day: TotalsGroup) => bigint;
    /** Said below the amount, of the days of the window. */
    children: (days: readonly TotalsGroup[]) => string;
};

function Money({ name, sums, now, of, children }: MoneyProps) {
    const window = windowOf((sums?.groups ?? []).filter(isDay), DAYS, now).days;
    const days = window.filter((day) => day !== null);
    const amount = days.reduce((all, day) => all + of(day), 0n);
    return (
        <Card name={name}>
            <dd className={styles.value}>
                {sums === undefined ? <Waiting /> : sums === null ? '–' : words.usdc(formatUsdc(amount))}
            </dd>
            <dd className="small muted number">{sums ? children(days) : '\u00a0'}</dd>
            <dd>
                <Sparkline values={window.map((day) => day && of(day))} />
            </dd>
        </Card>
    );
}

function Success({ spent, earned, now }: Omit<FiguresProps, 'account'>) {
    const [mine, agents] = [spent, earned].map((sums) => shareOf(sums, now));
    return (
        <Card name={words.success}>
            {spent === undefined || earned === undefined ? (
                <dd>
                    <Waiting />
                </dd>
            ) : (
                <>
                    {mine === null && agents === null && <dd className="muted">{words.noCalls}</dd>}
                    {typeof mine === 'string' && <dd className={styles.value}>{words.ofMine(mine)}</dd>}
                    {typeof agents === 'string' && <dd className={styles.value}>{words.ofAgents(agents)}</dd>}
                </>
            )}
        </Card>
    );
}

const sum = (days: readonly TotalsGroup[], of: (day: TotalsGroup) => number): number =>
    days.reduce((all, day) => all + of(day), 0);

/** Of the calls that ended: a disputed one was completed before. `null` if none ended. */
function shareOf(sums: Sums, now: Date): string | null {
    const days = windowOf((sums?.groups ?? []).filter(isDay), DAYS, now).days.map((day) => day ?? NOTHING);
    const [good, failed] = [
        days.reduce((all, { completed, disputed }) => all + completed + disputed, 0),
        days.reduce((all, day) => all + day.failed, 0),
    ];
    return good + failed === 0 ? null : formatShare(good / (good + failed));
}
