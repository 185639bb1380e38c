// A statement as a table for a spreadsheet: one line for each agent and each key, and one for all.

import type { TotalFigures, TotalsGroup } from '../../shared/api/totals';
import { csvText } from '../../shared/csv';
import { usdcText } from '../../shared/money';

const HEADINGS = [
    'group',
    'address',
    'name',
    'executions',
    'completed',
    'failed',
    'disputed',
    'paid_usdc',
    'creator_usdc',
    'platform_usdc',
    'refunded_usdc',
];

const figures = (sums: TotalFigures): string[] => [
    ...[sums.executions, sums.completed, sums.failed, sums.disputed].map(String),
    ...[sums.paid_usdc, sums.creator_usdc, sums.platform_usdc, sums.refunded_usdc].map(usdcText),
];

export type StatementParts = {
    readonly wallet: string;
    readonly total: TotalFigures;
    readonly agents: readonly TotalsGroup[];
    readonly keys: readonly TotalsGroup[];
    readonly keyNames: ReadonlyMap<string, string>;
};

/** Amounts are exact, without separators. A key without an address is the wallet itself. */
export const statementCsv = ({ wallet, total, agents, keys, keyNames }: StatementParts): string =>
    csvText([
        HEADINGS,
        ...agents.map((group) => ['agent', group.agent_id ?? '', group.agent_name ?? '', ...figures(group)]),
        ...keys.map((group) => {
            const key = group.session_public_key;
            return ['key', key ?? '', key === null ? '' : (keyNames.get(key) ?? ''), ...figures(group)];
        }),
        ['total', wallet, '', ...figures(total)],
    ]);
