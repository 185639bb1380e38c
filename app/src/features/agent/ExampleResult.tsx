// A result as the creator describes it, where the listing has an example.

import { UserBlock } from '../../shared/text/UserText';
import styles from './Agent.module.css';
import { exampleResultOf } from './example';
import { words } from './words';

export function ExampleResult({ schema }: { schema: unknown }) {
    const example = exampleResultOf(schema);
    if (example === undefined) return null;
    const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2);
    return (
        <section aria-labelledby="example" className="stack">
            <h2 id="example">{words.example}</h2>
            <p className="small muted">{words.exampleFrom}</p>
            <div className={styles.example} tabIndex={0} role="region" aria-labelledby="example">
                <UserBlock text={text} code />
            </div>
        </section>
    );
}
