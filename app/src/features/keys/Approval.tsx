// The token approval that all keys of the wallet share: what it covers, and how to raise it, change it, or take it
// back.

import { type Address, createSolanaRpc } from '@solana/kit';
import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../chain/fee';
import type { Schemas } from '../../shared/api/client';
import { plural } from '../../shared/figures';
import { MoneyError, formatUsdc, parseUsdc, usdcText } from '../../shared/money';
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
                if (instructions.length === 0)
                    throw new Error('The approval is this amount already, so there is nothing to sign.');
                return instructions;
            },
        });
        setOpen(false);
    };
    return (
        <section className={styles.card} aria-labelledby="approval">
            <div className={styles.head}>
                <h2 id="approval">What your keys may take together</h2>
                {funds && !isOpen && (
                    <Button
                        onPress={() => {
                            reset();
                            setOpen(true);
                        }}
                    >
                        Change
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
            <TransactionState status={status} done="The approval is changed." />
        </section>
    );
}

/** Names refunds as the cause: only they leave the approval below what the keys may still spend. */
function Low({ funds, onRaise }: { funds: Funds; onRaise: () => void }) {
    const [short, calls] = [shortOf(funds), callsLeft(funds)];
    if (calls === null || (short === 0n && !isLow(funds))) return null;
    const title = short > 0n ? `The approval is ${formatUsdc(short)} USDC short` : 'The approval is about to run out';
    return (
        <Notice kind={isLow(funds) ? 'warn' : 'plain'} title={title}>
            <p>
                It pays for {plural(Number(calls), 'more call')} at the highest price that your keys may pay, then calls
                are refused. Each call takes its price out of the approval, and a refund gives it back to your wallet
                and to the key, but not to the approval: refunds use it up.
            </p>
            <div>
                <Button onPress={onRaise}>Approve {formatUsdc(approvalFor(funds))} USDC</Button>
            </div>
        </Notice>
    );
}

const Amounts = ({ funds }: { funds: Funds | undefined }) => {
    const amount = (of: ((funds: Funds) => bigint) | undefined) =>
        funds && of ? `${formatUsdc(of(funds))} USDC` : <Skeleton height="1.5rem" width="6rem" />;
    return (
        <Figures>
            <Figure name="Your wallet holds">{amount(({ holding }) => holding)}</Figure>
            <Figure name="Approved for your keys">{amount(({ approved }) => approved)}</Figure>
            <Figure name="Your keys may still spend">{amount(needed)}</Figure>
            <Figure name="Missing in the approval">{amount(shortOf)}</Figure>
            <Figure name="Calls that it still pays for">
                {funds ? callsText(funds) : <Skeleton height="1.5rem" width="6rem" />}
            </Figure>
        </Figures>
    );
};

const callsText = (funds: Funds): string => {
    const calls = callsLeft(funds);
    return calls === null ? '\u2013' : `At least ${calls}`;
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
                label="Approve for all keys together (USDC)"
                inputMode="decimal"
                autoComplete="off"
                value={text}
                error={typeof read === 'string' ? read : undefined}
                hint="0 takes the approval back. Then no key can pay for a call."
                onChange={(event) => setText(event.target.value)}
            />
            {typeof read === 'bigint' && (
                <ul className={styles.effects}>
                    {read === funds.approved ? (
                        <li>This is the approval as it is.</li>
                    ) : (
                        <ApprovalEffects funds={funds} approved={read} />
                    )}
                    {below && <li>That is less than your keys may still spend. Calls beyond it are refused.</li>}
                    {read === 0n && funds.approved > 0n && (
                        <li>Every call with a key is refused from then on. Calls that are open go on.</li>
                    )}
                    <li>It costs the network fee of {feeText()}. No USDC moves.</li>
                </ul>
            )}
            <div className="row">
                <Button type="submit" isDisabled={typeof read === 'string' || read === funds.approved}>
                    {isBusy ? 'Under way …' : 'Sign the change'}
                </Button>
                {funds.approved > 0n && (
                    <Button look="danger" onPress={() => onChange(0n)}>
                        Take it back
                    </Button>
                )}
                <Button look="quiet" onPress={onCancel}>
                    Cancel
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
