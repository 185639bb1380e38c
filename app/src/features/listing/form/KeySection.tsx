// The result key: made in this browser and saved as a file, or the public key of one that exists. The secret stays in
// the memory of this page until the page is left.

import { type Address, isAddress } from '@solana/kit';
import { useRef, useState } from 'react';

import { type MadeResultKey, makeResultKey, readResultKey, saveResultKey } from '../../../shared/resultKey';
import { Address as ShownAddress } from '../../../shared/ui/Address';
import { Button } from '../../../shared/ui/Button';
import { Checkbox, TextField } from '../../../shared/ui/Field';
import { messageOf } from '../../../shared/ui/Failure';
import { Notice } from '../../../shared/ui/Notice';
import type { FormProps } from './fields';
import styles from './Form.module.css';

export type KeyProps = FormProps & {
    /** The wallet that lists the agent. */
    wallet: Address;
    /** Whether the creator says that the file of a key made here is saved. */
    hasFile: boolean;
    onHasFile: (hasFile: boolean) => void;
    /** The key of the listing as it is, which is no new one. */
    present?: Address;
};

export function KeySection({ fields, set, problems, wallet, hasFile, onHasFile, present }: KeyProps) {
    const [made, setMade] = useState<MadeResultKey | null>(null);
    const [pasted, setPasted] = useState('');
    const [problem, setProblem] = useState<string | undefined>(undefined);
    /** Counts inputs: an answer to an older one is dropped. */
    const turn = useRef(0);
    const fail = (error: unknown): void => setProblem(messageOf(error));

    const make = async (): Promise<void> => {
        try {
            const key = await makeResultKey();
            saveResultKey(key);
            setMade(key);
            setPasted('');
            setProblem(undefined);
            onHasFile(false);
            set({ resultKey: key.address });
        } catch (error) {
            fail(error);
        }
    };
    const paste = async (text: string): Promise<void> => {
        const own = ++turn.current;
        setPasted(text);
        setProblem(undefined);
        try {
            const address = await readResultKey(text);
            if (turn.current !== own) return;
            setMade(null);
            onHasFile(true);
            // A pasted key file is not kept, not even in the input.
            setPasted(address);
            set({ resultKey: address });
        } catch (error) {
            if (turn.current === own && text.trim() !== '') fail(error);
        }
    };
    const isNew = isAddress(fields.resultKey) && fields.resultKey !== present;
    return (
        <fieldset className={styles.group} data-invalid={problems.resultKey !== undefined || undefined} tabIndex={-1}>
            <legend>Result key</legend>
            <p className="small muted">
                Your service signs each result with this Ed25519 key. Only its public half goes to the marketplace. It
                is not the key of your wallet.
            </p>
            {problems.resultKey !== undefined && <p className={styles.error}>{problems.resultKey}</p>}
            {fields.resultKey !== '' && (
                <div className="row">
                    <span>{present === undefined ? 'Chosen key' : isNew ? 'New key' : 'Present key'}</span>
                    <ShownAddress value={fields.resultKey} what="result key" ends={6} />
                </div>
            )}
            {fields.resultKey === wallet && (
                <Notice kind="warn" title="This is the key of your wallet">
                    <p>
                        Your service would need the secret key of the wallet that receives the money. Use a key of its
                        own.
                    </p>
                </Notice>
            )}
            <div className={styles.tools}>
                <Button onPress={() => void make()}>
                    {fields.resultKey === '' || !isNew ? 'Make a new key' : 'Make another key'}
                </Button>
                {made !== null && <Button onPress={() => saveResultKey(made)}>Save the file again</Button>}
            </div>
            <div aria-live="polite" className="stack">
                {isNew && made !== null && (
                    <Notice title={`${made.fileName} was saved by your browser`}>
                        <p>
                            Move it to your service and keep it secret: who has it can sign in the name of your agent.
                            Nobody can make it again. The service of <code>crtx agent init</code> reads it as{' '}
                            <code>result-key.json</code>.
                        </p>
                    </Notice>
                )}
                {isNew && made === null && !hasFile && (
                    <Notice kind="warn" title="Is the file of this key saved?">
                        <p>
                            It was made before this page was loaded and cannot be saved again. If you do not have the
                            file, make another key.
                        </p>
                    </Notice>
                )}
            </div>
            {isNew && (
                <Checkbox
                    label="I have the file of this key"
                    checked={hasFile}
                    onChange={({ target }) => onHasFile(target.checked)}
                />
            )}
            <TextField
                label="Or paste the public key of a key that you have"
                hint="The service of crtx agent init writes it when it starts. The content of a key file works, too; its secret half is dropped."
                error={problem}
                value={pasted}
                onChange={({ target }) => void paste(target.value)}
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
            />
        </fieldset>
    );
}
