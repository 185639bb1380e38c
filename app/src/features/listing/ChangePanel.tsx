// What an edit changes, what follows from it, and the button that signs and sends it.

import type { Address } from '@solana/kit';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { feeText } from '../../chain/fee';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Button } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { useWallet } from '../../shared/wallet/useWallet';
import { GetMoney } from '../run';
import { SessionGate, TransactionState } from '../wallet';
import { type Change, type Difference, changeInstructions, consequences } from './change';
import { DifferenceList } from './DifferenceList';
import { DocumentRefused } from './form/document';
import { DOCUMENT_FIELDS, LABELS, type Problems } from './form/fields';
import { amountOf } from './form/terms';
import styles from './Listing.module.css';
import { type Market, ownListingQuery, walletQuery } from './market';
import { ShownState } from './ShownState';
import { words } from './words';

const WHY_SIGN_IN = words.changePanel.whySignIn;

export type ChangePanelProps = {
    change: Change;
    differences: readonly Difference[];
    problems: Problems;
    onUndo: () => void;
    /** Once the change is confirmed and the page has read it. */
    onSaved: () => void;
    wallet: Address;
    market: Market;
};

export function ChangePanel({ change, differences, problems, onUndo, onSaved, wallet, market }: ChangePanelProps) {
    const transaction = useTransaction();
    const { connection } = useWallet();
    const queries = useQueryClient();
    const { data: holdings } = useQuery(walletQuery(change.network, wallet, market));
    const [refused, setRefused] = useState<Problems>({});
    const isDocument = DOCUMENT_FIELDS.some((name) => change.changed.has(name));
    const isShort = holdings !== undefined && holdings.usdc < change.deposit;
    const isReady = differences.length > 0 && Object.keys(problems).length === 0 && !isShort;
    const readAgain = () =>
        queries.refetchQueries({ queryKey: ownListingQuery(change.network, change.agentId).queryKey });
    const sign = (): void => {
        setRefused({});
        const build = (creator: Address) =>
            changeInstructions(creator, change).catch(async (error: unknown) => {
                if (error instanceof DocumentRefused) setRefused(error.problems);
                // The message may be that the listing has changed: the page shows how, before the next press.
                await readAgain();
                throw error;
            });
        const after = () => readAgain().then(onSaved);
        void transaction.send({ build, after });
    };
    const button = (
        <Button look="primary" onPress={sign} isDisabled={!isReady || transaction.isBusy}>
            {transaction.isBusy
                ? words.changePanel.saving
                : change.deposit > 0n
                  ? words.changePanel.addAndSave(formatUsdc(change.deposit))
                  : words.changePanel.sign}
        </Button>
    );
    return (
        <aside className={`${styles.card} ${styles.side}`} aria-labelledby="changes">
            <h2 id="changes">{words.changePanel.changes}</h2>
            {differences.length === 0 ? (
                <p className="muted">{words.changePanel.unchanged}</p>
            ) : (
                <DifferenceList differences={differences} />
            )}
            {differences.length > 0 && <Consequences change={change} />}
            <Wrong problems={{ ...refused, ...problems }} />
            {isShort && (
                <Notice kind="warn" title={words.changePanel.tooLittle}>
                    <p>{words.changePanel.tooLittleText(formatUsdc(change.deposit), formatUsdc(holdings.usdc))}</p>
                    {connection?.wallet.name === LOCAL_WALLET && <GetMoney address={wallet} network={change.network} />}
                </Notice>
            )}
            {differences.length > 0 && (
                <>
                    {isDocument ? <SessionGate why={WHY_SIGN_IN}>{() => button}</SessionGate> : button}
                    <Button onPress={onUndo} isDisabled={transaction.isBusy}>
                        {words.changePanel.discard}
                    </Button>
                </>
            )}
            <TransactionState status={transaction.status} done={words.changePanel.done} />
            {transaction.status.kind === 'done' && <ShownState agentId={change.agentId} network={change.network} />}
        </aside>
    );
}

function Consequences({ change: { changed, base, fields, deposit } }: { change: Change }) {
    const price = amountOf(fields.price);
    const { collateral } = base.listing;
    const isLower = changed.has('price') && price !== null && price < base.listing.price;
    return (
        <ul className={styles.list}>
            {deposit > 0n && (
                <li>{words.changePanel.deposit(formatUsdc(collateral + deposit), formatUsdc(deposit))}</li>
            )}
            {isLower && <li>{words.changePanel.locked(formatUsdc(collateral))}</li>}
            {consequences(changed, base).map((sentence) => (
                <li key={sentence}>{sentence}</li>
            ))}
            <li>{words.changePanel.fee(feeText())}</li>
        </ul>
    );
}

const Wrong = ({ problems }: { problems: Problems }) => {
    const found = Object.entries(problems);
    return (
        <div aria-live="polite">
            {found.length > 0 && (
                <Notice kind="warn" title={words.changePanel.problems}>
                    <ul className={styles.list}>
                        {found.map(([name, problem]) => (
                            <li key={name}>
                                {LABELS[name as keyof typeof LABELS]}: <UserText text={problem} />
                            </li>
                        ))}
                    </ul>
                </Notice>
            )}
        </div>
    );
};
