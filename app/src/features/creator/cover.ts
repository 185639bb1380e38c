// How far the free collateral covers what callers can still lose, in words.

import { formatUsdc, percentOf } from '../../shared/money';

const WHOLE = 100;

export function coverText(free: bigint, atRisk: bigint): string {
    if (atRisk === 0n) return 'nothing at risk';
    const percent = percentOf(free, atRisk);
    return percent >= WHOLE
        ? `covers all ${formatUsdc(atRisk)} at risk`
        : `covers ${percent}% of ${formatUsdc(atRisk)} at risk`;
}
