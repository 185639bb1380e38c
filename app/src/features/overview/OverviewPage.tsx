// `/overview`: money, calls, and what needs the owner of the connected wallet.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';

import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { SessionGate } from '../wallet';
import { DaysSection } from './DaysSection';
import { FiguresSection, type Sums } from './FiguresSection';
import { LastCalls } from './LastCalls';
import { NeedsSection } from './NeedsSection';
import styles from './Overview.module.css';
import { daysQuery } from './query';
import { words } from './words';

export const OverviewPage = () => (
    <Page title={words.title}>
        <SessionGate why={words.why}>{(account) => <Overview key={account} account={account} />}</SessionGate>
    </Page>
);

function Overview({ account }: { account: Address }) {
    const now = new Date();
    const caller = useQuery(daysQuery(account, 'caller', now));
    const creator = useQuery(daysQuery(account, 'creator', now));
    const [spent, earned] = [caller, creator].map(
        ({ data, error }): Sums => data ?? (error === null ? undefined : null),
    );
    return (
        <div className={styles.sections}>
            <FiguresSection account={account} spent={spent} earned={earned} now={now} />
            <NeedsSection account={account} />
            {spent === undefined || earned === undefined ? (
                <Skeleton height="24rem" />
            ) : (
                <DaysSection spent={spent} earned={earned} now={now} />
            )}
            <LastCalls account={account} />
        </div>
    );
}
