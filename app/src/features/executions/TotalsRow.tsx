// What the executions of the chosen period come to, above the list.

import { formatCount } from '../../shared/figures';
import { formatUsdc } from '../../shared/money';
import { Failure } from '../../shared/ui/Failure';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Executions.module.css';
import type { ExecutionsSearch } from './search';
import type { TotalFigures, Totals } from '../../shared/api/totals';
import { figuresOf, successOf } from './totals';
import { words } from './words';

export type TotalsRowProps = {
    search: ExecutionsSearch;
    totals: Totals | undefined;
    error: Error | null;
    /** Older executions than those of the totals are in the list. */
    isCut: boolean;
    onRetry: () => void;
};

export function TotalsRow({ search, totals, error, isCut, onRetry }: TotalsRowProps) {
    const figures = totals && figuresOf(totals, search.status);
    const isCaller = search.role === undefined;
    const usdc = (amount: (figures: TotalFigures) => bigint) =>
        figures ? words.usdc(formatUsdc(amount(figures))) : <Skeleton height="1.5rem" width="6rem" />;
    const text = (of: (figures: TotalFigures) => string) =>
        figures ? of(figures) : <Skeleton height="1.5rem" width="4rem" />;
    if (error && totals === undefined) return <Failure error={error} onRetry={onRetry} />;
    return (
        <section aria-label={words.totals} className={styles.totals}>
            <Figures>
                <Figure name={isCaller ? words.paid : words.earned}>
                    {usdc(({ paid_usdc, creator_usdc }) => (isCaller ? paid_usdc : creator_usdc))}
                </Figure>
                <Figure name={words.calls}>{text(({ executions }) => formatCount(executions))}</Figure>
                <Figure name={words.success}>{text(successOf)}</Figure>
                <Figure name={isCaller ? words.refunded : words.fees}>
                    {usdc(({ refunded_usdc, platform_usdc }) => (isCaller ? refunded_usdc : platform_usdc))}
                </Figure>
            </Figures>
            {isCut && <p className="small muted">{words.oneYear}</p>}
        </section>
    );
}
