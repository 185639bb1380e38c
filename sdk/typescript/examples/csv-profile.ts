// Honest work without a model: what a CSV text has in its columns. The same text always has the same profile.

export type Column = {
    name: string;
    kind: 'empty' | 'integer' | 'number' | 'date' | 'text';
    empty: number;
    distinct: number;
};

const MAX_COLUMNS = 1_000;

/** Reads CSV of RFC 4180: quotation marks around a field, doubled within it. */
export function rowsOf(csv: string): string[][] {
    const rows: string[][] = [[]];
    const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
    for (let end = ','; field.lastIndex < csv.length || end === ',';) {
        const found = field.exec(csv);
        if (found === null) throw new Error(`row ${rows.length} is no CSV`);
        const [, quoted, plain = ''] = found;
        rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
        end = found[3] ?? '';
        if (end === '') break;
        if (end !== ',' && field.lastIndex < csv.length) rows.push([]);
    }
    return rows;
}

export function profileCsv(csv: string): { rows: number; columns: Column[] } {
    const [names = [], ...rows] = rowsOf(csv);
    if (names.length > MAX_COLUMNS) throw new Error(`a profile has at most ${MAX_COLUMNS} columns`);
    const wrong = rows.findIndex((row) => row.length !== names.length);
    if (wrong >= 0) throw new Error(`row ${wrong + 2} has another number of fields than the first one`);
    const columns = names.map((name, index) => {
        const all = rows.map((row) => row[index] ?? '');
        const values = all.filter((value) => value.trim() !== '');
        return { name, kind: kindOf(values), empty: all.length - values.length, distinct: new Set(values).size };
    });
    return { rows: rows.length, columns };
}

function kindOf(values: readonly string[]): Column['kind'] {
    const all = (form: RegExp): boolean => values.every((value) => form.test(value.trim()));
    if (values.length === 0) return 'empty';
    if (all(/^[+-]?\d+$/)) return 'integer';
    if (all(/^[+-]?\d*\.?\d+(e[+-]?\d+)?$/i)) return 'number';
    return all(/^\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?$/) ? 'date' : 'text';
}
