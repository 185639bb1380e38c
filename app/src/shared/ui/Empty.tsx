// Shown instead of an empty list: why it is empty, and what to do next.

import type { ReactNode } from 'react';

import styles from './Empty.module.css';

export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
    <div className={styles.empty}>
        <h2>{title}</h2>
        {children}
    </div>
);
