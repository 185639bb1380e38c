// How much happens in the market. The header has asked for the state of the index already; the month is one request.

import { useQuery } from '@tanstack/react-query';

import { statusQuery } from '../../../shared/api/queries';
import { formatCount } from '../../../shared/figures';
import { formatUsdc } from '../../../shared/money';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { marketHistoryQuery } from '../../network';
import { words } from '../words';
import styles from './Home.module.css';

const { figures } = words.home;

/** Of an answer that has 30 days. */
const USUAL_DAYS = 30;

export function MarketFigures() {
    const { data: status } = useQuery(statusQuery);
    const history = useQuery({ ...marketHistoryQuery, refetchInterval: false });
    const paid = history.data?.days.reduce((sum, day) => sum + day.volume_usdc, 0n);
    return (
        <dl className={styles.figures} aria-label={figures.name}>
            <Figure name={figures.agents} value={status && formatCount(status.counts.agents)} />
            <Figure name={figures.calls} value={status && formatCount(status.counts.executions)} />
            <Figure
                name={figures.paid(history.data?.window_days ?? USUAL_DAYS)}
                value={paid === undefined ? history.error && figures.unknown : figures.usdc(formatUsdc(paid))}
            />
        </dl>
    );
}

const Figure = ({ name, value }: { name: string; value: string | null | undefined }) => (
    <div className={styles.figure}>
        <dt>{name}</dt>
        <dd className="number">{value ?? <Skeleton height="1.5rem" width="4rem" />}</dd>
    </div>
);
