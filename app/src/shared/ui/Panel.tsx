// A part of a page with a border around it and a heading of its own.

import { type ReactNode, useId } from 'react';

import styles from './Panel.module.css';

export type PanelProps = {
    title: ReactNode;
    /** At the end of the line of the heading, such as a state. */
    beside?: ReactNode;
    /** For its place on the page. */
    className?: string | undefined;
    children: ReactNode;
};

export function Panel({ title, beside, className = '', children }: PanelProps) {
    const id = useId();
    return (
        <section aria-labelledby={id} className={`${styles.whole} ${className}`}>
            <div className={styles.head}>
                <h2 id={id}>{title}</h2>
                {beside}
            </div>
            {children}
        </section>
    );
}
