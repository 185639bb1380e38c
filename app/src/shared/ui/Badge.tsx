// A word or two in a frame: verified, paused, a state. The word says it; the colour only helps.

import type { ReactNode } from 'react';

import styles from './Badge.module.css';

export type BadgeProps = { kind?: 'plain' | 'good' | 'warn' | 'bad' | 'accent'; children: ReactNode };

export const Badge = ({ kind = 'plain', children }: BadgeProps) => (
    <span className={`${styles.badge} ${styles[kind]}`}>{children}</span>
);
