// A grey area of the size of what is to come, so that nothing jumps when it arrives.

import styles from './Skeleton.module.css';

export type SkeletonProps = { height: string; width?: string };

export const Skeleton = ({ height, width = '100%' }: SkeletonProps) => (
    <span className={styles.skeleton} style={{ height, width }} aria-hidden="true" />
);
