// The key that signs the agent's results: a new one is made here and saved as a file, or named by its public key.

import type { Address } from '@solana/kit';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';

import { plural } from '../../../shared/figures';
import { type MadeResultKey, makeResultKey, readResultKey, saveResultKey } from '../../../shared/resultKey';
import { short } from '../../../shared/text/short';
import { Address as ShownAddress } from '../../../shared/ui/Address';
import { Button } from '../../../shared/ui/Button';
import { messageOf } from '../../../shared/ui/Failure';
import { TextField } from '../../../shared/ui/Field';
import { Effects } from '../Effects';
import { rotateKey } from '../instructions';
import { testPath } from '../paths';
import styles from './Manage.module.css';
import { SendButton, StepPanel } from './StepPanel';
import type { Managing, Owned } from './useManaging';
import { words } from './words';

export type KeyPanelProps = { agentId: Address; chain: Owned; managing: Managing };

export function KeyPanel({ agentId, chain, managing }: KeyPanelProps) {
    const [way, setWay] = useState<'make' | 'paste'>('make');
    const [made, setMade] = useState<{ key: MadeResultKey; isSaved: boolean } | null>(null);
    const [pasted, setPasted] = useState('');
    const [problem, setProblem] = useState<string | undefined>();
    const { listing } = chain;

    const choose = (next: 'make' | 'paste'): void => {
        setWay(next);
        setProblem(undefined);
    };
    const make = async (): Promise<void> => {
        setProblem(undefined);
        try {
            setMade({ key: await makeResultKey(), isSaved: false });
        } catch (error) {
            setProblem(words.keyPanel.cannotMake(messageOf(error)));
        }
    };
    const save = (): void => {
        if (made === null) return;
        saveResultKey(made.key);
        setMade({ ...made, isSaved: true });
        setProblem(undefined);
    };
    /** Throws an error for the user. */
    const chosen = async (): Promise<Address> => {
        if (way === 'paste') return readResultKey(pasted);
        if (made === null) throw new Error(words.keyPanel.notMade);
        if (!made.isSaved) throw new Error(words.keyPanel.notSaved);
        return made.key.address;
    };
    const submit = async (): Promise<void> => {
        let key: Address;
        try {
            key = await chosen();
            if (key === listing.resultKey) throw new Error(words.keyPanel.same);
        } catch (error) {
            setProblem(messageOf(error));
            return;
        }
        setProblem(undefined);
        await managing.send({
            step: 'key',
            done: words.keyPanel.done(short(key)),
            build: (own, now) => {
                if (now.listing.resultKey === key) throw new Error(words.keyPanel.same);
                return rotateKey(own, key);
            },
        });
    };
    return (
        <StepPanel step="key" title={words.keyPanel.title} managing={managing}>
            <p className="row">
                <span className="muted">{words.keyPanel.present}</span>{' '}
                <ShownAddress value={listing.resultKey} what={words.keyPanel.keyCopy} ends={6} />
            </p>
            <fieldset className={styles.choice}>
                <legend className="small muted">{words.keyPanel.replaceBy}</legend>
                <label>
                    <input type="radio" name="way" checked={way === 'make'} onChange={() => choose('make')} />
                    {words.keyPanel.byNew}
                </label>
                <label>
                    <input type="radio" name="way" checked={way === 'paste'} onChange={() => choose('paste')} />
                    {words.keyPanel.byOwn}
                </label>
            </fieldset>
            {way === 'paste' ? (
                <TextField
                    label={words.keyPanel.field}
                    value={pasted}
                    spellCheck={false}
                    autoComplete="off"
                    onChange={(event) => {
                        setPasted(event.target.value);
                        setProblem(undefined);
                    }}
                    hint={words.keyPanel.hint}
                    error={problem}
                />
            ) : (
                <Made made={made} onMake={() => void make()} onSave={save} />
            )}
            {way === 'make' && (
                <div aria-live="polite" className={styles.problem}>
                    {problem}
                </div>
            )}
            <Effects effects={effectsOf(chain)} />
            <p className="small muted">
                {words.keyPanel.loseNone} <Link to={testPath(agentId)}>{words.keyPanel.test}</Link>
                {words.keyPanel.resume}
            </p>
            <SendButton step="key" managing={managing} onPress={() => void submit()}>
                {words.keyPanel.replace}
            </SendButton>
        </StepPanel>
    );
}

const effectsOf = ({ listing: { openExecutions } }: Owned): string[] => [
    words.keyPanel.effect,
    openExecutions === 0
        ? words.keyPanel.noOpen
        : words.keyPanel.open(plural(openExecutions, 'open call'), openExecutions === 1 ? 'needs' : 'need'),
    words.keyPanel.lookAgain,
];

type MadeProps = { made: { key: MadeResultKey; isSaved: boolean } | null; onMake: () => void; onSave: () => void };

const Made = ({ made, onMake, onSave }: MadeProps) => (
    <div className={styles.made} aria-live="polite">
        {made === null ? (
            <Button onPress={onMake}>{words.keyPanel.make}</Button>
        ) : (
            <>
                <ShownAddress value={made.key.address} what={words.keyPanel.newKeyCopy} ends={6} />
                <p className="small">
                    {words.keyPanel.onlyHere} <code>{made.key.fileName}</code>
                    {words.keyPanel.giveAs} <code>RESULT_KEY</code> {words.keyPanel.ofService}{' '}
                    <code>crtx agent init</code> {words.keyPanel.secret}
                </p>
                <Button onPress={onSave}>{made.isSaved ? words.keyPanel.saveAgain : words.keyPanel.save}</Button>
                {made.isSaved && <p className="small muted">{words.keyPanel.checkFile}</p>}
            </>
        )}
    </div>
);
