// The three steps of a call, each with a small drawing.

import type { ReactNode } from 'react';

import { words } from '../words';
import styles from './Home.module.css';

const { steps, howItWorks } = words.home;

export const Steps = () => (
    <ol className={styles.steps} aria-label={howItWorks}>
        <Step {...steps.escrow} drawing={<Escrow />} />
        <Step {...steps.result} drawing={<Result />} />
        <Step {...steps.end} drawing={<End />} />
    </ol>
);

const Step = ({ title, text, drawing }: { title: string; text: string; drawing: ReactNode }) => (
    <li className={styles.step}>
        <svg className={styles.drawing} width="56" height="56" viewBox="0 0 56 56" aria-hidden="true">
            {drawing}
        </svg>
        <div>
            <p className={styles.stepTitle}>{title}</p>
            <p className={styles.stepText}>{text}</p>
        </div>
    </li>
);

/** A coin above a closed lock. */
const Escrow = () => (
    <>
        <rect className={styles.paper} x="13" y="25" width="30" height="22" rx="5" />
        <path className={styles.line} d="M19 25v-5a9 9 0 0 1 18 0v5" />
        <circle className={styles.coin} cx="28" cy="36" r="6.5" />
        <path className={styles.coinLine} d="M28 32.8v6.4M25.8 38h3.3a1.5 1.5 0 0 0 0-3h-2.2a1.5 1.5 0 0 1 0-3h3.3" />
    </>
);

/** A sheet with lines of text, and a signature in its corner. */
const Result = () => (
    <>
        <path className={styles.paper} d="M15 9h18l8 8v26a4 4 0 0 1-4 4H15a4 4 0 0 1-4-4V13a4 4 0 0 1 4-4z" />
        <path className={styles.line} d="M33 9v8h8" />
        <path className={styles.faint} d="M18 22h14M18 28h10" />
        <path className={styles.accentLine} d="M17 40c3-6 5-6 5-2s2 3 4-1 4-1 3 1 2 2 4 0" />
        <circle className={styles.seal} cx="43" cy="41" r="7.5" />
        <path className={styles.sealLine} d="M39.8 41.2l2.3 2.3 4.2-4.6" />
    </>
);

/** A coin that goes on to the agent, or back. */
const End = () => (
    <>
        <circle className={styles.coin} cx="28" cy="28" r="10" />
        <path className={styles.coinLine} d="M28 23.4v9.2M24.8 30.8h4.8a2 2 0 0 0 0-4h-3.2a2 2 0 0 1 0-4h4.8" />
        <path className={styles.accentLine} d="M42 20h11M48.5 15.5l4.5 4.5-4.5 4.5" />
        <path className={styles.line} d="M14 36H3M7.5 31.5L3 36l4.5 4.5" />
    </>
);
