// The steps at the top of the page: where the creator is, what is right, and a way to each of them.

import { Link } from '@tanstack/react-router';

import type { Problems } from './form/fields';
import styles from './Listing.module.css';
import { STEPS, STEP_FIELDS, type Step, problemsAt } from './steps';
import { words } from './words';

export type StepListProps = { current: Step; problems: Problems; hasPassed: boolean };

export const StepList = ({ current, problems, hasPassed }: StepListProps) => (
    <nav aria-label={words.stepList.steps}>
        <ol className={styles.steps}>
            {STEPS.map((step, at) => {
                const isDone =
                    STEP_FIELDS[step].length > 0
                        ? problemsAt(step, problems).length === 0
                        : step === 'test' && hasPassed;
                return (
                    <li key={step}>
                        <Link
                            to="/creator/new"
                            search={{ step }}
                            aria-current={step === current ? 'step' : undefined}
                            className={`${styles.step} ${step === current ? styles.here : ''}`}
                        >
                            <span className={styles.mark} data-done={isDone || undefined} aria-hidden="true">
                                {isDone ? '✓' : at + 1}
                            </span>
                            {words.steps[step]}
                            {isDone && <span className="visually-hidden"> {words.stepList.complete}</span>}
                        </Link>
                    </li>
                );
            })}
        </ol>
    </nav>
);
