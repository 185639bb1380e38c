// A framed remark. `warn` and `bad` always say so in words too, because colours are not enough.

import type { ReactNode } from 'react';

import styles from './Notice.module.css';

export type NoticeProps = { kind?: 'plain' | 'good' | 'warn' | 'bad'; title?: string; children: ReactNode };

export const Notice = ({ kind = 'plain', title, children }: NoticeProps) => (
    <div className={`${styles.notice} ${styles[kind]}`}>
        {title !== undefined && <p className={styles.title}>{title}</p>}
        {children}
    </div>
);
