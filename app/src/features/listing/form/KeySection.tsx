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
import { words } from '../words';

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
            <legend>{words.keySection.resultKey}</legend>
            <p className="small muted">{words.keySection.about}</p>
            {problems.resultKey !== undefined && <p className={styles.error}>{problems.resultKey}</p>}
            {fields.resultKey !== '' && (
                <div className="row">
                    <span>
                        {present === undefined
                            ? words.keySection.chosen
                            : isNew
                              ? words.keySection.fresh
                              : words.keySection.present}
                    </span>
                    <ShownAddress value={fields.resultKey} what={words.keySection.keyCopy} ends={6} />
                </div>
            )}
            {fields.resultKey === wallet && (
                <Notice kind="warn" title={words.keySection.walletKey}>
                    <p>{words.keySection.walletKeyText}</p>
                </Notice>
            )}
            <div className={styles.tools}>
                <Button onPress={() => void make()}>
                    {fields.resultKey === '' || !isNew ? words.keySection.make : words.keySection.makeAnother}
                </Button>
                {made !== null && <Button onPress={() => saveResultKey(made)}>{words.keySection.saveAgain}</Button>}
            </div>
            <div aria-live="polite" className="stack">
                {isNew && made !== null && (
                    <Notice title={words.keySection.saved(made.fileName)}>
                        <p>
                            {words.keySection.moveIt} <code>crtx agent init</code> {words.keySection.readAs}{' '}
                            <code>result-key.json</code>.
                        </p>
                    </Notice>
                )}
                {isNew && made === null && !hasFile && (
                    <Notice kind="warn" title={words.keySection.isSaved}>
                        <p>{words.keySection.cannotSave}</p>
                    </Notice>
                )}
            </div>
            {isNew && (
                <Checkbox
                    label={words.keySection.haveFile}
                    checked={hasFile}
                    onChange={({ target }) => onHasFile(target.checked)}
                />
            )}
            <TextField
                label={words.keySection.paste}
                hint={words.keySection.pasteHint}
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
