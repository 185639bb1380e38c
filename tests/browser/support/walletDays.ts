// Half a year of a wallet that buys and sells, as the service would sum it up by day and by agent.

import type { Page } from 'playwright-core';

const MS_PER_DAY = 86_400_000;
const ROUND = 1_000_000;

const sums = (completed: number, failed: number, price: number): object => ({
    day: null,
    session_public_key: null,
    agent_id: null,
    agent_name: null,
    status: null,
    executions: completed + failed,
    completed,
    failed,
    disputed: 0,
    paid_usdc: Math.round(completed * price * ROUND) / ROUND,
    creator_usdc: Math.round(completed * price * 0.99 * ROUND) / ROUND,
    platform_usdc: Math.round(completed * price * 0.01 * ROUND) / ROUND,
    refunded_usdc: Math.round(failed * price * ROUND) / ROUND,
});

/** Days with more and less, and some without anything; `agent` has failed often in the last 24 hours. */
export async function walletDays(page: Page, agent = 'text-stats'): Promise<void> {
    await page.route('**/v1/executions/totals?*', (route) => {
        const query = new URL(route.request().url()).searchParams;
        const price = query.get('role') === 'creator' ? 0.02 : 0.05;
        const days = Array.from({ length: 180 }, (_, index) => 179 - index)
            .filter((age) => age % 7 !== 3 && age % 11 !== 5)
            .map((age) => ({
                ...sums((age * 37) % 60, age % 4, price),
                day: new Date(Date.now() - age * MS_PER_DAY).toISOString().slice(0, 10),
            }));
        const agents = [{ ...sums(20, 12, price), agent_id: '11111111111111111111111111111111', agent_name: agent }];
        const groups = query.get('by') === 'day' ? days : agents;
        const total = sums(5_000, 200, price);
        return route.fulfill({ json: { from: '', to: '', role: query.get('role'), by: query.get('by'), groups, total, truncated: false } });
    });
}
