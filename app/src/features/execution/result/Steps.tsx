// The trace that the creator sent with the result. Nobody signs it and nobody checks it.

import { useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import styles from '../Execution.module.css';
import { words } from '../words';
import { JsonTree } from './JsonTree';

const w = words.result;

const PART = 20;

export function Steps({ steps }: { steps: readonly unknown[] }) {
    const [shown, setShown] = useState(PART);
    return (
        <section className="stack" aria-labelledby="steps">
            <h2 id="steps">{w.steps}</h2>
            <p className="small muted">{w.stepsAbout}</p>
            <ol className={styles.steps}>
                {steps.slice(0, shown).map((step, index) => (
                    <li key={index} className={styles.document}>
                        <span className="visually-hidden">{w.step(index + 1)}</span>
                        <JsonTree value={step} open={1} />
                    </li>
                ))}
            </ol>
            {steps.length > shown && (
                <p>
                    <Button onPress={() => setShown(shown + 5 * PART)}>{w.moreSteps(steps.length)}</Button>
                </p>
            )}
        </section>
    );
}
