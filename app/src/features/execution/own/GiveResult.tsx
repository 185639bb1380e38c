// An execution that was settled without this service has a result that the service does not store yet. Anybody who has
// it hands it in; its hash is in the record on the chain.

import { useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import { messageOf } from '../../../shared/ui/Failure';
import { TextArea } from '../../../shared/ui/Field';
import styles from '../Execution.module.css';
import { words } from '../words';
import { publish, sha256Of } from './publish';

const w = words.give;

export function GiveResult({ sha256, executionId }: { sha256: string; executionId: string }) {
    const queries = useQueryClient();
    const [text, setText] = useState('');
    const [state, setState] = useState<{ isBusy: boolean; problem?: string }>({ isBusy: false });
    const submit = async (event: SubmitEvent): Promise<void> => {
        event.preventDefault();
        if (state.isBusy) return;
        setState({ isBusy: true });
        try {
            if ((await sha256Of(text)) !== sha256) throw new Error(w.otherText);
            await publish(sha256, text);
            await queries.invalidateQueries({ queryKey: ['execution', executionId] });
            setState({ isBusy: false });
        } catch (error) {
            setState({ isBusy: false, problem: messageOf(error) });
        }
    };
    return (
        <details className={styles.own}>
            <summary>{w.title}</summary>
            <form className="stack" onSubmit={(event) => void submit(event)} noValidate>
                <TextArea
                    label={w.field}
                    hint={w.hint}
                    spellCheck={false}
                    value={text}
                    error={state.problem}
                    onChange={(event) => setText(event.target.value)}
                />
                <div>
                    <Button type="submit" isDisabled={text === ''}>
                        {state.isBusy ? w.checking : w.submit}
                    </Button>
                </div>
            </form>
        </details>
    );
}
