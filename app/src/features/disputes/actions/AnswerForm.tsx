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
import { words } from '../words';
import type { FormProps } from './form';

const t = words.answer;

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
            <h2 id="answer">{t.title}</h2>
            <ul className={styles.bullets}>
                <li>{t.once}</li>
                <li>{t.effect}</li>
                <li>{t.cost(feeText())}</li>
            </ul>
            <EvidenceForm
                label={t.text}
                hint={t.textHint}
                draft={draft}
                onChange={setDraft}
                isChecked={isChecked}
                isDisabled={isBusy}
            />
            <Button look="primary" type="submit" isDisabled={isBusy}>
                {isBusy ? t.busy : t.submit}
            </Button>
        </form>
    );
}
