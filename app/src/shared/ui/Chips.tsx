// A few choices next to one another, of which one is chosen: a filter, a view. Each may carry how many it has.

import { formatCount } from '../figures';
import styles from './Chips.module.css';

export type Chip<Value> = {
    readonly value: Value;
    readonly name: string;
    /** `undefined`: not known. */ readonly count?: number | undefined;
};

export type ChipsProps<Value> = {
    label: string;
    chips: readonly Chip<Value>[];
    isChosen: (value: Value) => boolean;
    onChoose: (value: Value) => void;
};

export const Chips = <Value extends string>({ label, chips, isChosen, onChoose }: ChipsProps<Value>) => (
    <div role="group" aria-label={label} className={styles.chips}>
        {chips.map(({ value, name, count }) => (
            <button
                key={value}
                type="button"
                className={styles.chip}
                aria-pressed={isChosen(value)}
                onClick={() => onChoose(value)}
            >
                {name}
                {count !== undefined && <span className={`${styles.count} number`}>{formatCount(count)}</span>}
            </button>
        ))}
    </div>
);
