// The token approval that all keys of the wallet share: what it covers, and how to raise it, change it, or take it
// back.

import { type Address, createSolanaRpc } from '@solana/kit';
import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../chain/fee';
import type { Schemas } from '../../shared/api/client';
import { MoneyError, parseUsdc, usdcText } from '../../shared/money';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import { Figure, Figures } from '../../shared/ui/Figures';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { TransactionState } from '../wallet';
import { ApprovalEffects } from './Effects';
import { type Funds, approvalFor, approvalInstructions, callsLeft, isLow, needed, readFunds, shortOf } from './funds';
import styles from './Keys.module.css';
import { words } from './words';

const t = words.approval;

export type ApprovalProps = {
    account: Address;
    network: Schemas['NetworkResponse'] | undefined;
    funds: Funds | undefined;
    error: Error | null;
    onRetry: () => void;
};

export function Approval({ account, network, funds, error, onRetry }: ApprovalProps) {
    const { status, isBusy, send, reset } = useTransaction();
    const [isOpen, setOpen] = useState(false);
    const change = async (amount: (now: Funds) => bigint): Promise<void> => {
        if (network === undefined) return;
        const mint = network.usdc_mint as Address;
        await send({
            build: async () => {
                const now = await readFunds(createSolanaRpc(network.rpc_url ?? ''), account, mint);
                const instructions = await approvalInstructions(now, account, mint, amount(now));
                if (instructions.length === 0) throw new Error(t.same);
                return instructions;
            },
        });
        setOpen(false);
    };
    return (
        <section className={styles.card} aria-labelledby="approval">
            <div className={styles.head}>
                <h2 id="approval">{t.title}</h2>
                {funds && !isOpen && (
                    <Button
                        onPress={() => {
                            reset();
                            setOpen(true);
                        }}
                    >
                        {t.change}
                    </Button>
                )}
            </div>
            {error && funds === undefined ? <Failure error={error} onRetry={onRetry} /> : <Amounts funds={funds} />}
            {funds && !isOpen && <Low funds={funds} onRaise={() => void change(approvalFor)} />}
            {funds && isOpen && (
                <ChangeForm
                    funds={funds}
                    isBusy={isBusy}
                    onChange={(amount) => void change(() => amount)}
                    onCancel={() => setOpen(false)}
                />
            )}
            <TransactionState status={status} done={t.done} />
        </section>
    );
}

/** Names refunds as the cause: only they leave the approval below what the keys may still spend. */
function Low({ funds, onRaise }: { funds: Funds; onRaise: () => void }) {
    const [short, calls] = [shortOf(funds), callsLeft(funds)];
    if (calls === null || (short === 0n && !isLow(funds))) return null;
    const title = short > 0n ? t.short(short) : t.low;
    return (
        <Notice kind={isLow(funds) ? 'warn' : 'plain'} title={title}>
            <p>{t.lowHint(Number(calls))}</p>
            <div>
                <Button onPress={onRaise}>{t.approve(approvalFor(funds))}</Button>
            </div>
        </Notice>
    );
}

const Amounts = ({ funds }: { funds: Funds | undefined }) => {
    const amount = (of: ((funds: Funds) => bigint) | undefined) =>
        funds && of ? words.amount(of(funds)) : <Skeleton height="1.5rem" width="6rem" />;
    return (
        <Figures>
            <Figure name={t.holds}>{amount(({ holding }) => holding)}</Figure>
            <Figure name={t.approved}>{amount(({ approved }) => approved)}</Figure>
            <Figure name={t.maySpend}>{amount(needed)}</Figure>
            <Figure name={t.missing}>{amount(shortOf)}</Figure>
            <Figure name={t.paysFor}>{funds ? callsText(funds) : <Skeleton height="1.5rem" width="6rem" />}</Figure>
        </Figures>
    );
};

const callsText = (funds: Funds): string => {
    const calls = callsLeft(funds);
    return calls === null ? words.unknown : words.atLeast(Number(calls));
};

type FormProps = { funds: Funds; isBusy: boolean; onChange: (amount: bigint) => void; onCancel: () => void };

function ChangeForm({ funds, isBusy, onChange, onCancel }: FormProps) {
    const [text, setText] = useState(usdcText(approvalFor(funds)));
    const read = amountOf(text);
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        if (typeof read === 'bigint' && read !== funds.approved) onChange(read);
    };
    const below = typeof read === 'bigint' && read < needed(funds) && read > 0n;
    return (
        <form className={`${styles.panel} ${styles.fields}`} onSubmit={submit} noValidate>
            <TextField
                label={t.field}
                inputMode="decimal"
                autoComplete="off"
                value={text}
                error={typeof read === 'string' ? read : undefined}
                hint={t.fieldHint}
                onChange={(event) => setText(event.target.value)}
            />
            {typeof read === 'bigint' && (
                <ul className={styles.effects}>
                    {read === funds.approved ? (
                        <li>{t.unchanged}</li>
                    ) : (
                        <ApprovalEffects funds={funds} approved={read} />
                    )}
                    {below && <li>{t.below}</li>}
                    {read === 0n && funds.approved > 0n && <li>{t.none}</li>}
                    <li>{t.fee(feeText())}</li>
                </ul>
            )}
            <div className="row">
                <Button type="submit" isDisabled={typeof read === 'string' || read === funds.approved}>
                    {isBusy ? words.busy : t.sign}
                </Button>
                {funds.approved > 0n && (
                    <Button look="danger" onPress={() => onChange(0n)}>
                        {t.remove}
                    </Button>
                )}
                <Button look="quiet" onPress={onCancel}>
                    {words.cancel}
                </Button>
            </div>
        </form>
    );
}

function amountOf(text: string): bigint | string {
    try {
        return parseUsdc(text);
    } catch (error) {
        return error instanceof MoneyError ? error.message : String(error);
    }
}
