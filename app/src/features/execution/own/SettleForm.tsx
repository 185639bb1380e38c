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
import { MAX_RESULT_BYTES, readAnswer } from './answer';
import { settlementInstructions } from './ending';
import { publish } from './publish';

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
        if (file.size > MAX_FILE_BYTES) return setProblem('This file is larger than an answer can be.');
        setText(await file.text());
        setProblem(undefined);
    };
    const { creator, platform } = splitOf(onChain.amount ?? 0n, onChain.feeBps ?? 0);
    return (
        <form className="stack" onSubmit={(event) => void submit(event)} noValidate>
            <h2>Settle it with the creator’s signed answer</h2>
            <ul className={styles.effects}>
                <li>
                    {formatUsdc(creator)} USDC go from the escrow to the creator, {formatUsdc(platform)} to the
                    marketplace.
                </li>
                <li>The result counts as delivered. A call that its caller settles cannot be disputed.</li>
                <li>Your wallet signs one transaction. The network fee is {feeText(1)}.</li>
            </ul>
            <TextArea
                label="Answer of the creator (JSON)"
                hint="The object with result, signature, and call_signature if the agent signs for each call. It is checked here before you sign."
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
                    {isBusy ? 'Under way …' : 'Check, sign and settle'}
                </Button>
                <label className="small">
                    or load it from a file:{' '}
                    <input
                        type="file"
                        accept=".json,application/json,text/plain"
                        onChange={(event) => void load(event.target.files?.[0])}
                    />
                </label>
            </div>
            <TransactionState status={status} done="The execution is settled." />
            {unpublished !== null && (
                <>
                    <p role="status">The execution is settled, and the service does not have the result yet.</p>
                    <Failure
                        error={new Error(unpublished.reason)}
                        onRetry={() => void give(unpublished.hash, unpublished.result)}
                    />
                </>
            )}
        </form>
    );
}
