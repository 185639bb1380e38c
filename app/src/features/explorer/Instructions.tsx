// The instructions of a transaction with what they called: program, name, arguments and accounts.

import type { PlainInstruction, WholeTransaction } from '../../chain/history';
import styles from './Explorer.module.css';
import { readInstruction } from './names';
import { AccountName, Names } from './Parts';
import { words } from './words';

export const Instructions = ({ transaction: { instructions, inner } }: { transaction: WholeTransaction }) => (
    <section className="stack" aria-labelledby="instructions">
        <h2 id="instructions">{words.instructions}</h2>
        <ol className={styles.instructions}>
            {instructions.map((instruction, index) => {
                const called = inner.filter(({ by }) => by === index);
                return (
                    <li key={index} className={styles.instruction}>
                        <One instruction={instruction} number={index + 1} />
                        {called.length > 0 && (
                            <details>
                                <summary>{words.calls(called.length)}</summary>
                                <ol className={styles.instructions}>
                                    {called.map((instruction, at) => (
                                        <li key={at} className={styles.called}>
                                            <One instruction={instruction} number={at + 1} />
                                        </li>
                                    ))}
                                </ol>
                            </details>
                        )}
                    </li>
                );
            })}
        </ol>
    </section>
);

function One({ instruction, number }: { instruction: PlainInstruction; number: number }) {
    const read = readInstruction(instruction);
    return (
        <>
            <div className={styles.heading}>
                <span className="muted number">{number}.</span>
                <strong>{read.name ?? words.unknownInstruction(instruction.data.length)}</strong>
                <span className="small">
                    <AccountName address={instruction.programId} />
                </span>
            </div>
            {read.arguments.length > 0 && <Names values={read.arguments} />}
            {read.accounts.length > 0 && (
                <details>
                    <summary>{words.accounts(read.accounts.length)}</summary>
                    <Names values={read.accounts} />
                </details>
            )}
        </>
    );
}
