// The creator's side: one answer, with evidence.

import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../../chain/fee';
import { Button } from '../../../shared/ui/Button';
import { checkAnswer, readCase } from '../chain/case';
import { answerInstruction } from '../chain/instructions';
import styles from '../Disputes.module.css';
import { filesProblem, textProblem } from '../evidence/draft';
import { EvidenceForm } from '../evidence/EvidenceForm';
import { storeEvidence } from '../evidence/store';
import { forgetDraft, useDraft } from '../evidence/useDraft';
import type { FormProps } from './form';

export function AnswerForm({ found: { recordAddress }, wallet, rpcUrl, transaction: { isBusy, send } }: FormProps) {
    const key = `answer.${recordAddress}`;
    const [draft, setDraft] = useDraft(key);
    const [isChecked, setChecked] = useState(false);
    const answer = (event: SubmitEvent): void => {
        event.preventDefault();
        setChecked(true);
        if (textProblem(draft.text) !== undefined || filesProblem(draft.files) !== undefined) return;
        void send({
            build: async () => {
                const now = await readCase(rpcUrl, recordAddress);
                checkAnswer(now, wallet);
                return [await answerInstruction(now, wallet, await storeEvidence(wallet, draft))];
            },
            after: () => forgetDraft(key),
        });
    };
    return (
        <form className={styles.form} onSubmit={answer} noValidate aria-labelledby="answer">
            <h2 id="answer">Answer the dispute</h2>
            <ul className={styles.bullets}>
                <li>There is one answer. It stands on the chain and cannot be changed.</li>
                <li>With it the resolver can uphold the dispute at once. Without one, 24 hours after it was raised.</li>
                <li>Text and files are public. It costs the network fee of {feeText()}.</li>
            </ul>
            <EvidenceForm
                label="Your answer"
                hint="Say why the result is what was asked for. Add what proves it, such as the request that you received."
                draft={draft}
                onChange={setDraft}
                isChecked={isChecked}
                isDisabled={isBusy}
            />
            <Button look="primary" type="submit" isDisabled={isBusy}>
                {isBusy ? 'Answering …' : 'Send the answer'}
            </Button>
        </form>
    );
}
