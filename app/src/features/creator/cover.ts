// How far the free collateral covers what callers can still lose, in words.

import { formatUsdc, percentOf } from '../../shared/money';
import { words } from './words';

const WHOLE = 100;

export function coverText(free: bigint, atRisk: bigint): string {
    if (atRisk === 0n) return words.cover.none;
    const percent = percentOf(free, atRisk);
    return percent >= WHOLE ? words.cover.all(formatUsdc(atRisk)) : words.cover.part(percent, formatUsdc(atRisk));
}
