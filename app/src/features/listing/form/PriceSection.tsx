// Price, time-out and signatures of an agent, and the collateral that follows from the price.

import { Checkbox, TextField } from '../../../shared/ui/Field';
import type { Schemas } from '../../../shared/api/client';
import { plural } from '../../../shared/figures';
import { percentText, splitOf } from '../../../shared/fee';
import { formatUsdc } from '../../../shared/money';
import { Figure, Figures } from '../../../shared/ui/Figures';
import type { Market } from '../market';
import type { FormProps } from './fields';
import styles from './Form.module.css';
import { requiredCollateral } from '../../../chain/collateral';
import { MAX_COVER, amountOf, coverOf } from './terms';

export type PriceProps = FormProps & {
    network: Schemas['NetworkResponse'];
    market: Market;
    /** What the listing has locked already; without one the collateral can be chosen. */
    locked?: bigint;
};

export function PriceSection({ fields, set, problems, network: { limits }, market, locked }: PriceProps) {
    const [price, minCover] = [amountOf(fields.price), coverOf(fields.minCover)];
    const { parameters } = market.config;
    const required =
        price === null || minCover === null
            ? null
            : requiredCollateral(parameters.collateralTiers, { price, minCover });
    const chosen = amountOf(fields.collateral) ?? required;
    const held = locked === undefined ? chosen : required === null || locked > required ? locked : required;
    return (
        <div className="stack">
            <TextField
                label="Price of one call, in USDC"
                hint={`At least ${formatUsdc(parameters.minPrice)}. Callers pay it into escrow; you get it for a signed result.`}
                error={problems.price}
                value={fields.price}
                onChange={({ target }) => set({ price: target.value })}
                inputMode="decimal"
                autoComplete="off"
                required
            />
            <Outcome price={price} held={held} market={market} />
            <Tiers market={market} price={price} />
            <TextField
                label="Promised cover, in calls"
                hint={`Free collateral that you promise, in prices of one call: 0 to ${MAX_COVER}. No call opens while disputes leave less of it. 0: no promise.`}
                error={problems.minCover}
                value={fields.minCover}
                onChange={({ target }) => set({ minCover: target.value })}
                inputMode="numeric"
                autoComplete="off"
                required
            />
            {locked === undefined && (
                <TextField
                    label="Collateral, in USDC (optional)"
                    hint={
                        required === null
                            ? 'Empty: what price and promised cover demand. More collateral covers more calls at once.'
                            : `Empty: ${formatUsdc(required)}, which price and promised cover demand. More covers more calls at once; it can be added later.`
                    }
                    error={problems.collateral}
                    value={fields.collateral}
                    onChange={({ target }) => set({ collateral: target.value })}
                    inputMode="decimal"
                    autoComplete="off"
                />
            )}
            <TextField
                label="Time-out, in seconds"
                hint={`Your service has this long for a whole answer: ${limits.min_timeout_seconds} to ${limits.max_timeout_seconds}.`}
                error={problems.timeout}
                value={fields.timeout}
                onChange={({ target }) => set({ timeout: target.value })}
                inputMode="numeric"
                autoComplete="off"
                required
            />
            <div>
                <Checkbox
                    label="My service signs each result for its call"
                    checked={fields.binding}
                    onChange={({ target }) => set({ binding: target.checked })}
                />
                <p className="small muted">
                    Recommended. The signature of one call then proves nothing about another one. Your service sends{' '}
                    <code>call_signature</code> in addition to <code>signature</code>.
                </p>
            </div>
        </div>
    );
}

/** What one call brings, and how far the collateral reaches. */
function Outcome({ price, held, market }: { price: bigint | null; held: bigint | null; market: Market }) {
    const split = price === null ? null : splitOf(price, market.config.parameters.feeBps);
    const covered = price === null || price === 0n || held === null ? null : held / price;
    return (
        <Figures>
            <Figure name="You get for a call">{split === null ? '\u2013' : `${formatUsdc(split.creator)} USDC`}</Figure>
            <Figure name={`Marketplace, ${percentText(market.config.parameters.feeBps)}`}>
                {split === null ? '\u2013' : `${formatUsdc(split.platform)} USDC`}
            </Figure>
            <Figure name="Collateral">{held === null ? '\u2013' : `${formatUsdc(held)} USDC`}</Figure>
            <Figure name="Covers at once">{covered === null ? '\u2013' : plural(Number(covered), 'call')}</Figure>
        </Figures>
    );
}

/** The tiers, with the one of this price marked in words, too. */
function Tiers({ market, price }: { market: Market; price: bigint | null }) {
    const tiers = market.config.parameters.collateralTiers;
    const found = price === null ? -1 : tiers.findIndex(({ maxPrice }) => price <= maxPrice);
    const current = price !== null && found < 0 ? tiers.length - 1 : found;
    return (
        <table className={styles.tiers}>
            <caption className="visually-hidden">Collateral by price</caption>
            <thead>
                <tr>
                    <th scope="col">Price of a call</th>
                    <th scope="col">Collateral</th>
                </tr>
            </thead>
            <tbody>
                {tiers.map(({ collateral }, at) => (
                    <tr key={at} className={at === current ? styles.current : undefined}>
                        <th scope="row">
                            {at === tiers.length - 1 ? 'above' : 'up to'}{' '}
                            {formatUsdc(tiers[Math.min(at, tiers.length - 2)]?.maxPrice ?? 0n)} USDC
                        </th>
                        <td className="number">
                            {formatUsdc(collateral)} USDC{at === current && ' \u2013 this price'}
                        </td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
