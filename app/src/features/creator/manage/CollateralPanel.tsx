// The collateral: what it is for, what the price needs, and a deposit with the figures before and after.

import { useEffect, useState } from 'react';

import { highestPrice, missingCollateral, requiredCollateral, tierOf } from '../../../chain/collateral';
import type { CollateralTier } from '../../../generated/types/collateralTier';
import { MAX_USDC, MoneyError, formatUsdc, parseUsdc, usdcText } from '../../../shared/money';
import { Button } from '../../../shared/ui/Button';
import { TextField } from '../../../shared/ui/Field';
import type { Agent } from '../../agent';
import { coverText } from '../cover';
import { Effects } from '../Effects';
import { topUp } from '../instructions';
import styles from './Manage.module.css';
import { SendButton, StepPanel } from './StepPanel';
import type { Managing, Owned } from './useManaging';
import { words } from './words';

/** Checks the amount before anything is signed. Throws a `MoneyError` for the user. */
export function readDeposit(text: string, { listing, wallet }: Pick<Owned, 'listing' | 'wallet'>): bigint {
    if (text.trim() === '') throw new MoneyError(words.collateralPanel.empty);
    const amount = parseUsdc(text);
    if (amount === 0n) throw new MoneyError(words.collateralPanel.zero);
    if (amount > wallet.usdc) throw new MoneyError(words.collateralPanel.tooMuch(formatUsdc(wallet.usdc)));
    if (listing.collateral + amount > MAX_USDC) throw new MoneyError(words.collateralPanel.tooLarge);
    return amount;
}

export type CollateralPanelProps = {
    chain: Owned;
    managing: Managing;
    /** Free collateral and what is at risk; `undefined` while it is not known, and for an agent that is not shown. */
    metrics: Agent['metrics'] | undefined;
    maxPrice: bigint;
};

export function CollateralPanel({ chain, managing, metrics, maxPrice }: CollateralPanelProps) {
    const [text, setText] = useState('');
    const [problem, setProblem] = useState<string | undefined>();
    const { listing, tiers } = chain;
    const missing = missingCollateral(tiers, listing);
    const amount = readOrNull(text, chain);
    // The deposit may have happened, so the field is emptied instead of offering it again.
    const isUnknown = isOutcomeUnknown(managing);
    useEffect(() => {
        if (isUnknown) setText('');
    }, [isUnknown]);
    const change = (next: string): void => {
        setText(next);
        setProblem(undefined);
    };
    const submit = (): void => {
        let added: bigint;
        try {
            added = readDeposit(text, chain);
        } catch (error) {
            setProblem(error instanceof MoneyError ? error.message : words.collateralPanel.noAmount);
            return;
        }
        void managing.send({
            step: 'collateral',
            done: words.collateralPanel.done(formatUsdc(added)),
            build: (own, now) => {
                readDeposit(usdcText(added), now);
                return topUp(own, now, added);
            },
            after: () => setText(''),
        });
    };
    return (
        <StepPanel step="collateral" title={words.collateralPanel.title} managing={managing}>
            <p className="muted">{words.collateralPanel.about}</p>
            <form
                noValidate
                className="stack"
                onSubmit={(event) => {
                    event.preventDefault();
                    submit();
                }}
            >
                <div className={styles.amount}>
                    <TextField
                        label={words.collateralPanel.field}
                        inputMode="decimal"
                        autoComplete="off"
                        value={text}
                        onChange={(event) => change(event.target.value)}
                        hint={words.collateralPanel.tooMuch(formatUsdc(chain.wallet.usdc))}
                        error={problem}
                    />
                </div>
                {missing > 0n && (
                    <p>
                        <Button onPress={() => change(usdcText(missing))}>
                            {words.collateralPanel.fillMissing(formatUsdc(missing))}
                        </Button>
                    </p>
                )}
                <BeforeAndAfter chain={chain} amount={amount} metrics={metrics} maxPrice={maxPrice} />
                <Tiers tiers={tiers} price={listing.price} />
                <Effects effects={[words.collateralPanel.effect, words.collateralPanel.locked]} />
                <SendButton step="collateral" managing={managing} look={missing > 0n ? 'primary' : 'plain'}>
                    {words.collateralPanel.add}
                </SendButton>
            </form>
        </StepPanel>
    );
}

const isOutcomeUnknown = ({ step, status }: Managing): boolean =>
    step === 'collateral' && status.kind === 'failed' && status.cause === 'unreachable' && status.signature !== null;

function readOrNull(text: string, chain: Owned): bigint | null {
    try {
        return readDeposit(text, chain);
    } catch {
        return null;
    }
}

type BeforeAndAfterProps = {
    chain: Owned;
    amount: bigint | null;
    metrics: Agent['metrics'] | undefined;
    maxPrice: bigint;
};

function BeforeAndAfter({ chain: { listing, tiers, wallet }, amount, metrics, maxPrice }: BeforeAndAfterProps) {
    const after = (show: (added: bigint) => string): string => (amount === null ? '–' : show(amount));
    const price = (collateral: bigint): string => {
        const highest = highestPrice(tiers, collateral, listing.minCover, maxPrice);
        return highest === null ? 'none' : formatUsdc(highest);
    };
    const cover = (added: bigint): string =>
        metrics ? coverText(metrics.free_collateral_usdc + added, metrics.amount_at_risk_usdc) : '–';
    const rows: readonly (readonly [string, string, string])[] = [
        [
            words.collateralPanel.title,
            formatUsdc(listing.collateral),
            after((added) => formatUsdc(listing.collateral + added)),
        ],
        [
            words.collateralPanel.needed,
            formatUsdc(requiredCollateral(tiers, listing)),
            formatUsdc(requiredCollateral(tiers, listing)),
        ],
        [
            words.collateralPanel.highestPrice,
            price(listing.collateral),
            after((added) => price(listing.collateral + added)),
        ],
        [words.cover, cover(0n), after(cover)],
        [words.collateralPanel.wallet, formatUsdc(wallet.usdc), after((added) => formatUsdc(wallet.usdc - added))],
    ];
    return (
        <table className={styles.change}>
            <caption className="visually-hidden">{words.collateralPanel.caption}</caption>
            <thead>
                <tr>
                    <th scope="col">{words.collateralPanel.usdc}</th>
                    <th scope="col">{words.collateralPanel.now}</th>
                    <th scope="col">{words.collateralPanel.after}</th>
                </tr>
            </thead>
            <tbody>
                {rows.map(([name, now, then]) => (
                    <tr key={name}>
                        <th scope="row">{name}</th>
                        <td>{now}</td>
                        <td>{then}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}

function Tiers({ tiers, price }: { tiers: readonly CollateralTier[]; price: bigint }) {
    const own = tierOf(tiers, price);
    const last = tiers.length - 1;
    return (
        <details className={styles.details}>
            <summary>{words.collateralPanel.tiers}</summary>
            <ul className={styles.claims}>
                {tiers.map((tier, index) => (
                    <li key={index}>
                        {index === last && index > 0
                            ? words.collateralPanel.above(formatUsdc(tiers[index - 1]?.maxPrice ?? 0n))
                            : words.collateralPanel.upTo(formatUsdc(tier.maxPrice))}{' '}
                        {words.collateralPanel.tier(formatUsdc(tier.collateral))}
                        {tier === own && <strong> {words.collateralPanel.own}</strong>}
                    </li>
                ))}
            </ul>
            <p className="small muted">{words.collateralPanel.minimum}</p>
        </details>
    );
}
