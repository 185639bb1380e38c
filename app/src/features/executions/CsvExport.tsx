// Saves everything that matches as CSV, with its progress and a way to stop it.

import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';

import { saveFile } from '../../shared/csv';
import { Button } from '../../shared/ui/Button';
import styles from './Executions.module.css';
import { type Exported, MOST_ROWS, PAGE_ROWS, fileName, readAll, toCsv } from './export';
import { keyNamesQuery } from './keyNames';
import { readPage } from './query';
import type { ExecutionsSearch } from './search';
import { words } from './words';

type State =
    | { readonly is: 'idle' }
    | { readonly is: 'reading'; readonly rows: number; readonly total: number }
    | { readonly is: 'ended'; readonly exported: Exported };

export function CsvExport({ account, search, total }: { account: string; search: ExecutionsSearch; total: number }) {
    const [state, setState] = useState<State>({ is: 'idle' });
    const { data: names } = useQuery({ ...keyNamesQuery(account), enabled: search.role === undefined });
    const running = useRef<AbortController | null>(null);
    useEffect(() => () => running.current?.abort(), []);

    const save = (exported: Exported): void =>
        saveFile(
            fileName(exported, search.role ?? 'caller', new Date().toISOString().slice(0, 10)),
            'text/csv;charset=utf-8',
            toCsv(exported.rows, names),
        );
    const start = async (): Promise<void> => {
        if (running.current !== null) return;
        const controller = new AbortController();
        running.current = controller;
        setState({ is: 'reading', rows: 0, total });
        // Calls that begin after the press are not part of the file.
        const fixed = { ...search, to: search.to ?? new Date().toISOString() };
        const exported = await readAll({
            readPage: (cursor, signal) => readPage(account, fixed, PAGE_ROWS, cursor, signal),
            signal: controller.signal,
            onProgress: (rows, all) => setState({ is: 'reading', rows, total: all }),
        });
        running.current = null;
        setState({ is: 'ended', exported });
        if (exported.end === 'all' || exported.end === 'most') save(exported);
    };
    return (
        <div className={styles.export}>
            {state.is === 'reading' ? (
                <>
                    <progress max={Math.max(state.total, 1)} value={state.rows} aria-label={words.rowsRead} />
                    <span className="small number">{words.progress(state.rows, state.total)}</span>
                    <Button onPress={() => running.current?.abort()}>{words.stop}</Button>
                </>
            ) : (
                <Button onPress={() => void start()}>{words.saveCsv}</Button>
            )}
            <div role="status" className="small muted">
                {state.is === 'ended' && <Ended exported={state.exported} onSave={() => save(state.exported)} />}
            </div>
        </div>
    );
}

function Ended({ exported, onSave }: { exported: Exported; onSave: () => void }) {
    const { rows, total, end } = exported;
    if (end === 'all') return words.saved(rows.length);
    if (end === 'most') return words.cutOff(MOST_ROWS, total);
    return (
        <span className="row">
            {end === 'stopped' ? words.stopped(rows.length, total) : words.brokeOff(end.message, rows.length, total)}
            {rows.length > 0 && <Button onPress={onSave}>{words.saveThese(rows.length)}</Button>}
        </span>
    );
}
