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
            setProblem(
                `This browser cannot make the key: ${messageOf(error)} Make it with \`crtx agent rotate-key\`, or paste a public key.`,
            );
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
        if (made === null) throw new Error('Make the new key first.');
        if (!made.isSaved) throw new Error('Save the key file first. Without it, no result could be signed.');
        return made.key.address;
    };
    const submit = async (): Promise<void> => {
        let key: Address;
        try {
            key = await chosen();
            if (key === listing.resultKey) throw new Error('This is the result key already.');
        } catch (error) {
            setProblem(messageOf(error));
            return;
        }
        setProblem(undefined);
        await managing.send({
            step: 'key',
            done: `New calls need the signature of ${short(key)}. Your service has to use it now.`,
            build: (own, now) => {
                if (now.listing.resultKey === key) throw new Error('This is the result key already.');
                return rotateKey(own, key);
            },
        });
    };
    return (
        <StepPanel step="key" title="Result key" managing={managing}>
            <p className="row">
                <span className="muted">Results are signed by</span>{' '}
                <ShownAddress value={listing.resultKey} what="result key" ends={6} />
            </p>
            <fieldset className={styles.choice}>
                <legend className="small muted">Replace it by</legend>
                <label>
                    <input type="radio" name="way" checked={way === 'make'} onChange={() => choose('make')} />a new key,
                    made in this browser
                </label>
                <label>
                    <input type="radio" name="way" checked={way === 'paste'} onChange={() => choose('paste')} />a key
                    that you have already
                </label>
            </fieldset>
            {way === 'paste' ? (
                <TextField
                    label="Public key"
                    value={pasted}
                    spellCheck={false}
                    autoComplete="off"
                    onChange={(event) => {
                        setPasted(event.target.value);
                        setProblem(undefined);
                    }}
                    hint="Its address, or the content of its key file. Only the public half is used, and nothing is sent."
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
                To lose no call: pause the agent, wait until no call is open, replace the key, start your service with
                the new key file, <Link to={testPath(agentId)}>test it</Link>, and resume.
            </p>
            <SendButton step="key" managing={managing} onPress={() => void submit()}>
                Replace the key
            </SendButton>
        </StepPanel>
    );
}

const effectsOf = ({ listing: { openExecutions } }: Owned): string[] => [
    'Results of new calls have to be signed with the new key, from the confirmation on.',
    openExecutions === 0
        ? 'No call is open now. One that is opened before the confirmation still needs the old key.'
        : `${plural(openExecutions, 'open call')} still ${openExecutions === 1 ? 'needs' : 'need'} the old key: keep it until no call is open.`,
    'Callers who have just looked at the agent have to look again: its terms name the key.',
];

type MadeProps = { made: { key: MadeResultKey; isSaved: boolean } | null; onMake: () => void; onSave: () => void };

const Made = ({ made, onMake, onSave }: MadeProps) => (
    <div className={styles.made} aria-live="polite">
        {made === null ? (
            <Button onPress={onMake}>Make a new key</Button>
        ) : (
            <>
                <ShownAddress value={made.key.address} what="new result key" ends={6} />
                <p className="small">
                    The key exists in this page alone. Save its file, <code>{made.key.fileName}</code>, and give it to
                    your service, for example as <code>RESULT_KEY</code> of the service that{' '}
                    <code>crtx agent init</code> writes. Keep it secret: who has it can sign results in your name.
                </p>
                <Button onPress={onSave}>{made.isSaved ? 'Save the key file again' : 'Save the key file'}</Button>
                {made.isSaved && (
                    <p className="small muted">Look that the file is in your downloads before you go on.</p>
                )}
            </>
        )}
    </div>
);
