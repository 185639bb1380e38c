// How much of a cap is used, as a bar and in words.

import { percentOf } from '../../shared/money';
import styles from './Keys.module.css';
import { words } from './words';

export type CapBarProps = {
    label: string;
    spent: bigint;
    /** `null`: there is no limit. */
    cap: bigint | null;
    /** Of which time, such as ` today`; without it of all. */
    when?: string;
};

export function CapBar({ label, spent, cap, when = '' }: CapBarProps) {
    if (cap === null) return <p className="small">{words.spentWithoutLimit(spent)}</p>;
    const used = spent > cap ? cap : spent;
    const percent = percentOf(used, cap);
    const text = words.spentOf(spent, cap, when);
    return (
        <div className={styles.bar}>
            <p className="small number">
                {text}, <strong>{words.left(cap - used)}</strong>
            </p>
            <div
                className={styles.track}
                role="meter"
                aria-label={label}
                aria-valuemin={0}
                aria-valuemax={100}
                aria-valuenow={percent}
                aria-valuetext={text}
            >
                <div
                    className={`${styles.fill} ${used === cap ? styles.full : ''}`}
                    style={{ width: `${used > 0n ? Math.max(percent, 1) : 0}%` }}
                />
            </div>
        </div>
    );
}
