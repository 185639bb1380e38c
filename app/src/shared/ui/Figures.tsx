// Names with their values, in a grid: the facts of one thing.

import type { ReactNode } from 'react';

import styles from './Figures.module.css';

export const Figures = ({ children }: { children: ReactNode }) => <dl className={styles.figures}>{children}</dl>;

export type FigureProps = {
    name: ReactNode;
    children: ReactNode;
    /** Has a row of its own: a hash. */ isWide?: boolean;
};

export const Figure = ({ name, children, isWide = false }: FigureProps) => (
    <div className={`${styles.figure} ${isWide ? styles.wide : ''}`}>
        <dt>{name}</dt>
        <dd className="number">{children}</dd>
    </div>
);
