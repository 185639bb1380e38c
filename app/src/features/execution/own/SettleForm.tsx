// Settles an execution with the signed answer of its creator, and gives the result to the service.

import { type Address, createSolanaRpc } from '@solana/kit';
import { useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { hexOf } from '../../../chain/accounts';
import { feeText } from '../../../chain/fee';
import { splitOf } from '../../../shared/fee';
import { formatUsdc } from '../../../shared/money';
import { Button } from '../../../shared/ui/Button';
import { Failure, messageOf } from '../../../shared/ui/Failure';
import { TextArea } from '../../../shared/ui/Field';
import { useTransaction } from '../../../shared/wallet/useTransaction';
import { useWallet } from '../../../shared/wallet/useWallet';
import { TransactionState } from '../../wallet';
import styles from '../Execution.module.css';
import type { OnChain } from '../query';
import { words } from '../words';
import { MAX_RESULT_BYTES, readAnswer } from './answer';
import { settlementInstructions } from './ending';
import { publish } from './publish';

const w = words.settle;

export type SettleFormProps = { record: Address; executionId: string; rpcUrl: string; onChain: OnChain };

/** Twice the largest result, because JSON writes some characters longer. */
const MAX_FILE_BYTES = 4 * MAX_RESULT_BYTES;

export function SettleForm({ record, executionId, rpcUrl, onChain }: SettleFormProps) {
    const { connection } = useWallet();
    const queries = useQueryClient();
    const { status, isBusy, send } = useTransaction();
    const [text, setText] = useState('');
    const [problem, setProblem] = useState<string | undefined>(undefined);
    const [unpublished, setUnpublished] = useState<{ hash: string; result: string; reason: string } | null>(null);

    const give = async (hash: string, result: string): Promise<void> => {
        setUnpublished(null);
        await publish(hash, result).then(
            () => queries.invalidateQueries({ queryKey: ['execution', executionId] }),
            (error: unknown) => setUnpublished({ hash, result, reason: messageOf(error) }),
        );
    };
    const submit = async (event: SubmitEvent): Promise<void> => {
        event.preventDefault();
        if (isBusy) return;
        try {
            const answer = await readAnswer(text, executionId);
            setProblem(undefined);
            await send({
                build: (account) => settlementInstructions(createSolanaRpc(rpcUrl), record, account, answer),
                after: () => give(hexOf(answer.resultHash), answer.result),
            });
        } catch (error) {
            setProblem(messageOf(error));
        }
    };
    const load = async (file: File | undefined): Promise<void> => {
        if (file === undefined) return;
        if (file.size > MAX_FILE_BYTES) return setProblem(w.fileTooLarge);
        setText(await file.text());
        setProblem(undefined);
    };
    const { creator, platform } = splitOf(onChain.amount ?? 0n, onChain.feeBps ?? 0);
    return (
        <form className="stack" onSubmit={(event) => void submit(event)} noValidate>
            <h2>{w.title}</h2>
            <ul className={styles.effects}>
                <li>{w.pays(formatUsdc(creator), formatUsdc(platform))}</li>
                <li>{w.final}</li>
                <li>{w.signs(feeText(1))}</li>
            </ul>
            <TextArea
                label={w.field}
                hint={w.hint}
                rows={5}
                spellCheck={false}
                value={text}
                error={problem}
                onChange={(event) => {
                    setText(event.target.value);
                    setProblem(undefined);
                }}
            />
            <div className="row">
                <Button type="submit" isDisabled={text.trim() === '' || connection === null}>
                    {isBusy ? words.busy : w.submit}
                </Button>
                <label className="small">
                    {w.file}{' '}
                    <input
                        type="file"
                        accept=".json,application/json,text/plain"
                        onChange={(event) => void load(event.target.files?.[0])}
                    />
                </label>
            </div>
            <TransactionState status={status} done={w.done} />
            {unpublished !== null && (
                <>
                    <p role="status">{w.notStored}</p>
                    <Failure
                        error={new Error(unpublished.reason)}
                        onRetry={() => void give(unpublished.hash, unpublished.result)}
                    />
                </>
            )}
        </form>
    );
}
