// What the wallet's agents earned lately, with the file of it.

import { useQuery } from '@tanstack/react-query';

import { ApiError } from '../../../shared/api/client';
import { saveFile } from '../../../shared/csv';
import { formatUsdc } from '../../../shared/money';
import { Button } from '../../../shared/ui/Button';
import { Failure } from '../../../shared/ui/Failure';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { EarningsPlot } from './EarningsPlot';
import { type WalletHistory, earningsCsv, sumsOfDays, walletHistoryQuery } from './history';
import { words } from './words';

export function Earnings({ wallet }: { wallet: string }) {
    const { data, error, refetch } = useQuery(walletHistoryQuery(wallet));
    return (
        <section aria-labelledby="earnings" className="stack">
            <h2 id="earnings">{words.title(data?.window_days)}</h2>
            {data !== undefined ? (
                <Shown wallet={wallet} history={data} />
            ) : error === null ? (
                <Skeleton height="20rem" />
            ) : isMissing(error) ? (
                <p className="muted">{words.notKept}</p>
            ) : (
                <Failure error={error} onRetry={() => void refetch()} />
            )}
        </section>
    );
}

/** A service that does not know the path. */
const isMissing = (error: Error): boolean => error instanceof ApiError && error.status === 404;

function Shown({ wallet, history: { days, window_days } }: { wallet: string; history: WalletHistory }) {
    if (days.length === 0) {
        return <p className="muted">{words.none}</p>;
    }
    const { earned, fees, completed, failed } = sumsOfDays(days);
    return (
        <>
            <Figures>
                <Figure name={words.earned}>{words.usdc(formatUsdc(earned))}</Figure>
                <Figure name={words.fees}>{words.usdc(formatUsdc(fees))}</Figure>
                <Figure name={words.executions}>{words.ended(completed, failed)}</Figure>
            </Figures>
            <EarningsPlot days={days} windowDays={window_days} />
            <p>
                <Button
                    onPress={() =>
                        saveFile(`crtx-earnings-${wallet.slice(0, 8)}.csv`, 'text/csv;charset=utf-8', earningsCsv(days))
                    }
                >
                    {words.save}
                </Button>
            </p>
        </>
    );
}
