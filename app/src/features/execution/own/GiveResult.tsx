// An execution that was settled without this service has a result that the service does not store yet. Anybody who has
// it hands it in; its hash is in the record on the chain.

import { useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { Button } from '../../../shared/ui/Button';
import { messageOf } from '../../../shared/ui/Failure';
import { TextArea } from '../../../shared/ui/Field';
import styles from '../Execution.module.css';
import { publish, sha256Of } from './publish';

export function GiveResult({ sha256, executionId }: { sha256: string; executionId: string }) {
    const queries = useQueryClient();
    const [text, setText] = useState('');
    const [state, setState] = useState<{ isBusy: boolean; problem?: string }>({ isBusy: false });
    const submit = async (event: SubmitEvent): Promise<void> => {
        event.preventDefault();
        if (state.isBusy) return;
        setState({ isBusy: true });
        try {
            if ((await sha256Of(text)) !== sha256)
                throw new Error('This is another text than the result: its hash is not the one in the record.');
            await publish(sha256, text);
            await queries.invalidateQueries({ queryKey: ['execution', executionId] });
            setState({ isBusy: false });
        } catch (error) {
            setState({ isBusy: false, problem: messageOf(error) });
        }
    };
    return (
        <details className={styles.own}>
            <summary>If you have the result, give it to the service</summary>
            <form className="stack" onSubmit={(event) => void submit(event)} noValidate>
                <TextArea
                    label="Result"
                    hint="Exactly as the creator signed it. Nothing is signed or paid."
                    spellCheck={false}
                    value={text}
                    error={state.problem}
                    onChange={(event) => setText(event.target.value)}
                />
                <div>
                    <Button type="submit" isDisabled={text === ''}>
                        {state.isBusy ? 'Checking …' : 'Check and store the result'}
                    </Button>
                </div>
            </form>
        </details>
    );
}
