// Every execution that matches, as CSV: page after page, so that a long list can be followed and stopped. The first
// columns are those of `crtx executions export`.

import { ApiError } from '../../shared/api/client';
import { csvText } from '../../shared/csv';
import { usdcText } from '../../shared/money';
import type { KeyNames } from './keyNames';
import type { ExecutionsPageAnswer, ListedExecution } from './query';

/** As long as a table may be: a spreadsheet takes it, and a browser holds it. */
export const MOST_ROWS = 100_000;
export const PAGE_ROWS = 100;
const ATTEMPTS = 5;
const PAUSE_MS = 1_000;

export type Exported = {
    readonly rows: readonly ListedExecution[];
    /** How many there are. */
    readonly total: number;
    /** `all`; `most`: cut off at the limit; `stopped`: its reader stopped it; an error: what broke. */
    readonly end: 'all' | 'most' | 'stopped' | Error;
};

export type ExportOptions = {
    readonly readPage: (cursor: string | null, signal: AbortSignal) => Promise<ExecutionsPageAnswer>;
    readonly signal: AbortSignal;
    readonly onProgress: (rows: number, total: number) => void;
    readonly most?: number;
    readonly pauseMs?: number;
};

/** Never rejects: returns the rows that it has read until then. */
export async function readAll({
    readPage,
    signal,
    onProgress,
    most = MOST_ROWS,
    pauseMs = PAUSE_MS,
}: ExportOptions): Promise<Exported> {
    const rows: ListedExecution[] = [];
    let [cursor, total] = [null as string | null, 0];
    try {
        do {
            const page = await patiently(() => readPage(cursor, signal), signal, pauseMs);
            total = Math.max(total, page.total);
            rows.push(...page.executions);
            cursor = page.next_cursor;
            onProgress(Math.min(rows.length, most), total);
            if (signal.aborted) return { rows, total, end: cursor === null ? 'all' : 'stopped' };
            if (rows.length >= most && (cursor !== null || rows.length > most))
                return { rows: rows.slice(0, most), total, end: 'most' };
        } while (cursor !== null);
        return { rows, total, end: 'all' };
    } catch (error) {
        if (signal.aborted) return { rows, total, end: 'stopped' };
        return { rows, total, end: error instanceof Error ? error : new Error('The service does not answer.') };
    }
}

/** A service that is busy is asked again. */
async function patiently<T>(read: () => Promise<T>, signal: AbortSignal, pauseMs: number): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
        try {
            return await read();
        } catch (error) {
            const isForNow = error instanceof ApiError && (error.status === 0 || error.retryAfterSeconds !== null);
            if (!isForNow || attempt === ATTEMPTS || signal.aborted) throw error;
            await new Promise((resolve) =>
                setTimeout(resolve, Math.max(pauseMs, (error.retryAfterSeconds ?? 0) * pauseMs)),
            );
        }
    }
}

const COLUMNS = [
    'execution_id',
    'agent_id',
    'agent_name',
    'status',
    'cost_usdc',
    'initiated_at',
    'completed_at',
    'on_chain_record',
    'creator_amount_usdc',
    'platform_amount_usdc',
    'execution_time_ms',
    'failure',
    'session_public_key',
] as const;

/** `names`: of the keys. */
export const toCsv = (rows: readonly ListedExecution[], names: KeyNames = new Map()): string =>
    csvText([
        [...COLUMNS, 'key_name'],
        ...rows.map((row) => [
            ...COLUMNS.map((column) => textOf(row[column])),
            names.get(row.session_public_key ?? '') ?? '',
        ]),
    ]);

const textOf = (value: bigint | number | string | null | undefined): string =>
    typeof value === 'bigint' ? usdcText(value) : String(value ?? '');

/** The name says what the file has. */
export function fileName({ rows, total, end }: Exported, role: string, day: string): string {
    const part = end === 'all' ? '' : `-first-${rows.length}-of-${total}`;
    return `executions-${role}-${day}${part}.csv`;
}
