// The last 30 days as one cell a day: how many of its calls were completed. A cell without calls is a short line; what
// failed is the lower part of a cell, so that no colour has to be told apart.

import { useQuery } from '@tanstack/react-query';

import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './SuccessStrip.module.css';
import { type AgentHistory, historyQuery } from './query';
import { type Cell, cellsOf } from './strip';
import { words } from './words';

export function SuccessStrip({ agentId }: { agentId: string }) {
    const { data } = useQuery(historyQuery(agentId));
    return (
        <section aria-labelledby="success" className={styles.panel}>
            <h2 id="success">{words.days(data?.window_days ?? 30)}</h2>
            {data === undefined ? <Skeleton height="4.5rem" /> : <Strip history={data} />}
        </section>
    );
}

const [WIDTH, GAP, HEIGHT] = [8, 2, 36];

function Strip({ history: { days, window_days: window } }: { history: AgentHistory }) {
    const cells = cellsOf(days, window, new Date());
    const used = cells.filter(({ completed, failed }) => completed + failed > 0);
    const sum = (count: (cell: Cell) => number): number => used.reduce((total, cell) => total + count(cell), 0);
    const text =
        used.length === 0
            ? words.noCalls(window)
            : words.strip(
                  used.length,
                  window,
                  sum((cell) => cell.completed),
                  sum((cell) => cell.failed),
              );
    return (
        <>
            <svg
                viewBox={`0 0 ${cells.length * (WIDTH + GAP) - GAP} ${HEIGHT}`}
                preserveAspectRatio="none"
                className={styles.strip}
                aria-hidden="true"
            >
                {cells.map((cell, index) => (
                    <Day key={cell.day} cell={cell} x={index * (WIDTH + GAP)} />
                ))}
            </svg>
            <p className="small muted number">{text}</p>
        </>
    );
}

function Day({ cell: { day, completed, failed }, x }: { cell: Cell; x: number }) {
    const all = completed + failed;
    if (all === 0) {
        return (
            <rect x={x} y={HEIGHT - 3} width={WIDTH} height={3} className={styles.none}>
                <title>{words.dayWithout(day)}</title>
            </rect>
        );
    }
    // One failure among many is still seen.
    const bad = failed === 0 ? 0 : Math.max(4, Math.round((HEIGHT * failed) / all));
    return (
        <g>
            <title>{words.day(day, completed, failed)}</title>
            <rect x={x} y={0} width={WIDTH} height={HEIGHT - bad} className={styles.good} />
            <rect x={x} y={HEIGHT - bad} width={WIDTH} height={bad} className={styles.bad} />
        </g>
    );
}
