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
import { words } from '../words';

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
                label={words.priceSection.price}
                hint={words.priceSection.priceHint(formatUsdc(parameters.minPrice))}
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
                label={words.priceSection.cover}
                hint={words.priceSection.coverHint(MAX_COVER)}
                error={problems.minCover}
                value={fields.minCover}
                onChange={({ target }) => set({ minCover: target.value })}
                inputMode="numeric"
                autoComplete="off"
                required
            />
            {locked === undefined && (
                <TextField
                    label={words.priceSection.ownCollateral}
                    hint={
                        required === null
                            ? words.priceSection.ownHint
                            : words.priceSection.ownHintNeeded(formatUsdc(required))
                    }
                    error={problems.collateral}
                    value={fields.collateral}
                    onChange={({ target }) => set({ collateral: target.value })}
                    inputMode="decimal"
                    autoComplete="off"
                />
            )}
            <TextField
                label={words.priceSection.timeout}
                hint={words.priceSection.timeoutHint(limits.min_timeout_seconds, limits.max_timeout_seconds)}
                error={problems.timeout}
                value={fields.timeout}
                onChange={({ target }) => set({ timeout: target.value })}
                inputMode="numeric"
                autoComplete="off"
                required
            />
            <div>
                <Checkbox
                    label={words.priceSection.signsCall}
                    checked={fields.binding}
                    onChange={({ target }) => set({ binding: target.checked })}
                />
                <p className="small muted">
                    {words.priceSection.signsCallHint} <code>call_signature</code> {words.priceSection.besides}{' '}
                    <code>signature</code>.
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
            <Figure name={words.priceSection.youGet}>
                {split === null ? '\u2013' : words.priceSection.usdc(formatUsdc(split.creator))}
            </Figure>
            <Figure name={words.priceSection.marketplace(percentText(market.config.parameters.feeBps))}>
                {split === null ? '\u2013' : words.priceSection.usdc(formatUsdc(split.platform))}
            </Figure>
            <Figure name={words.priceSection.collateral}>
                {held === null ? '\u2013' : words.priceSection.usdc(formatUsdc(held))}
            </Figure>
            <Figure name={words.priceSection.coversCalls}>
                {covered === null ? '\u2013' : plural(Number(covered), 'call')}
            </Figure>
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
            <caption className="visually-hidden">{words.priceSection.tiers}</caption>
            <thead>
                <tr>
                    <th scope="col">{words.priceSection.tierPrice}</th>
                    <th scope="col">{words.priceSection.collateral}</th>
                </tr>
            </thead>
            <tbody>
                {tiers.map(({ collateral }, at) => (
                    <tr key={at} className={at === current ? styles.current : undefined}>
                        <th scope="row">
                            {at === tiers.length - 1 ? 'above' : 'up to'}{' '}
                            {words.priceSection.usdc(formatUsdc(tiers[Math.min(at, tiers.length - 2)]?.maxPrice ?? 0n))}
                        </th>
                        <td className="number">
                            {words.priceSection.usdc(formatUsdc(collateral))}
                            {at === current && words.priceSection.ownTier}
                        </td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}
