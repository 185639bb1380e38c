// The plot of the dashboard: days with one measure at a time, the choice of measure and window, a legend, sums, and the same
// data as a table. The drawing itself is loaded when it is shown.

import { Suspense, lazy, useState } from 'react';

import { part } from '../part';
import { UserText } from '../text/UserText';
import { Button } from '../ui/Button';
import { Checkbox, Select } from '../ui/Field';
import { Skeleton } from '../ui/Skeleton';
import { type Column, Table } from '../ui/Table';
import styles from './Plot.module.css';
import type { Drawn, Measure, PlotDay } from './measure';
import { drawnOf, lengthsOf, sumOf, windowOf } from './window';
import { words } from './words';

const Drawing = lazy(async () => ({ default: (await part(() => import('./Drawing'))).Drawing }));

/** As high as the drawing, so that nothing moves when it comes. */
const HEIGHT = '200px';
const USUAL_LENGTH = 30;

export type PlotProps<Day extends PlotDay> = {
    /** What the plot is about, such as `Executions of my agents`. */
    title: string;
    /** Days on which something happened, oldest first. */
    days: readonly Day[];
    /** How many days, of which the last is today, `days` speaks of. */
    knownDays: number;
    measures: readonly [Measure<Day>, ...Measure<Day>[]];
    /** Said of a day that is not among `days`. */
    nothing: string;
    /** Of the table, after the day. */
    columns: readonly Column<Day>[];
    tableCaption: string;
    now?: Date;
};

export function Plot<Day extends PlotDay>(props: PlotProps<Day>) {
    const { title, days, knownDays, measures, nothing, columns, tableCaption, now = new Date() } = props;
    const lengths = lengthsOf(knownDays);
    const [chosen, setChosen] = useState(USUAL_LENGTH);
    const [number, setNumber] = useState(0);
    const [isCompared, setCompared] = useState(false);
    const length = lengths.includes(chosen) ? chosen : (lengths.at(-1) ?? knownDays);
    const measure = measures[number] ?? measures[0];
    const canCompare = knownDays >= 2 * length;
    const drawn = drawnOf(measure, days, length, now, isCompared && canCompare);
    const shown = windowOf(days, length, now).days.filter((day) => day !== null);
    return (
        <figure className={styles.figure} aria-label={title}>
            <div className={styles.controls}>
                {measures.length > 1 && (
                    <Select
                        label={words.measure}
                        value={number}
                        onChange={(event) => setNumber(Number(event.target.value))}
                    >
                        {measures.map(({ name }, index) => (
                            <option key={name} value={index}>
                                {name}
                            </option>
                        ))}
                    </Select>
                )}
                {lengths.length > 1 && <Lengths lengths={lengths} chosen={length} onChoose={setChosen} />}
            </div>
            <Suspense fallback={<Skeleton height={HEIGHT} />}>
                <Drawing title={`${title}, ${measure.name}`} drawn={drawn} format={measure.format} nothing={nothing} />
            </Suspense>
            <div className={styles.below}>
                <Legend drawn={drawn} measure={measure} />
                {canCompare && (
                    <Checkbox
                        label={words.compare(length)}
                        checked={isCompared}
                        onChange={(event) => setCompared(event.target.checked)}
                    />
                )}
            </div>
            <details>
                <summary>{words.table}</summary>
                <Table
                    caption={tableCaption}
                    columns={[
                        { name: words.day, cell: ({ day }) => <span className="number">{day}</span> },
                        ...columns,
                    ]}
                    rows={shown.reverse()}
                    rowKey={({ day }) => day}
                />
            </details>
        </figure>
    );
}

type LengthsProps = { lengths: readonly number[]; chosen: number; onChoose: (length: number) => void };

const Lengths = ({ lengths, chosen, onChoose }: LengthsProps) => (
    <div role="group" aria-label={words.shown} className={styles.lengths}>
        {lengths.map((length) => (
            <Button key={length} aria-pressed={length === chosen} onPress={() => onChoose(length)}>
                {words.days(length)}
            </Button>
        ))}
    </div>
);

/** What the colours mean, with the sums of bars. */
function Legend<Day>({ drawn: { kind, series, days, before }, measure }: { drawn: Drawn; measure: Measure<Day> }) {
    const sum = kind === 'bars' && before !== null ? sumOf(before) : null;
    return (
        <figcaption className={styles.legend}>
            {series.map(({ name, tone, values }) => (
                <span key={name} className={`${styles.key} ${styles[tone]}`}>
                    <UserText text={name} />
                    {kind === 'bars' && <strong className="number">{measure.format(sumOf(values) ?? 0n)}</strong>}
                </span>
            ))}
            {before !== null && (
                <span className={`${styles.key} ${styles.before}`}>
                    {words.before(days.length)}
                    {sum !== null && <strong className="number">{measure.format(sum)}</strong>}
                </span>
            )}
        </figcaption>
    );
}
