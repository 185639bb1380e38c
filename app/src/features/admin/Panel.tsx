// One subject of the admin's page.

import { type ReactNode, useId } from 'react';

import styles from './Admin.module.css';

export function Panel({ title, children }: { title: string; children: ReactNode }) {
    const id = useId();
    return (
        <section aria-labelledby={id} className={styles.panel}>
            <h2 id={id}>{title}</h2>
            {children}
        </section>
    );
}
