// What a wallet's agents earned, day by day: the query, the file, and the totals of the window.

import { queryOptions } from '@tanstack/react-query';

import { type Schemas, api, body } from '../../../shared/api/client';
import { csvText } from '../../../shared/csv';
import { usdcText } from '../../../shared/money';
import { RARELY_MS } from '../../../shared/seldom';

/** A day (UTC) on which executions of the wallet's agents ended. */
export type EarningsDay = Schemas['CreatorDayResponse'];

export type WalletHistory = Schemas['CreatorHistoryResponse'];

export const walletHistoryQuery = (wallet: string) =>
    queryOptions({
        queryKey: ['wallet', wallet, 'history'] as const,
        queryFn: ({ signal }) =>
            body(api.GET('/v1/wallets/{wallet}/history', { params: { path: { wallet } }, signal })),
        refetchInterval: RARELY_MS,
    });

const HEADINGS = [
    'day',
    'completed_executions',
    'failed_executions',
    'disputed_executions',
    'earned_usdc',
    'fees_usdc',
];

/** Amounts are exact, without separators. */
export const earningsCsv = (days: readonly EarningsDay[]): string =>
    csvText([
        HEADINGS,
        ...days.map((day) => [
            day.day,
            String(day.completed_executions),
            String(day.failed_executions),
            String(day.disputed_executions),
            usdcText(day.earned_usdc),
            usdcText(day.fees_usdc),
        ]),
    ]);

export type EarningsSums = {
    readonly earned: bigint;
    readonly fees: bigint;
    readonly completed: number;
    readonly failed: number;
};

export const sumsOfDays = (days: readonly EarningsDay[]): EarningsSums => ({
    earned: days.reduce((sum, day) => sum + day.earned_usdc, 0n),
    fees: days.reduce((sum, day) => sum + day.fees_usdc, 0n),
    completed: days.reduce((sum, day) => sum + day.completed_executions, 0),
    failed: days.reduce((sum, day) => sum + day.failed_executions, 0),
});
