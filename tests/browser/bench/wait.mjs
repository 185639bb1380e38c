// What a user waits for after a press: from “Pay” until the call is done, and from “Pause the agent” until it is paused.

import { quantile, row, visitor } from './marketplace.mjs';

const TIMES = 10;

/** Milliseconds from the press of the button until a text is painted. */
async function untilShown(page, button, text) {
    await page.evaluate((text) => {
        window.shownMs = undefined;
        addEventListener(
            'click',
            ({ timeStamp }) => {
                const isText = ({ nodeType, textContent }) => nodeType === Node.TEXT_NODE && textContent.trim() === text;
                const isThere = () => [...document.querySelectorAll('main *')].some(({ childNodes }) => [...childNodes].some(isText));
                const look = () => (isThere() ? requestAnimationFrame(() => (window.shownMs = performance.now() - timeStamp)) : requestAnimationFrame(look));
                look();
            },
            { capture: true, once: true },
        );
    }, text);
    await button.click();
    const shown = await page.waitForFunction(() => window.shownMs, undefined, { polling: 20, timeout: 30_000 });
    return shown.jsonValue();
}

async function connect(page) {
    await page.getByRole('banner').getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('button', { name: 'Local test wallet' }).click();
    await page.getByText('nothing here has a value').waitFor();
    await page.keyboard.press('Escape');
}

/** The caller pays for a call of an agent that answers at once. Signed in, as all calls but the first. */
async function payments(page, { agents }) {
    const times = [];
    for (let call = 0; call <= TIMES; call += 1) {
        await page.goto(`/agents/${agents[0].agent_id}/run`);
        await page.getByLabel('What should the agent do?').fill(`The quick brown fox jumps ${call} times.`);
        // Somebody who writes a task is not faster than this.
        await page.waitForTimeout(1_000);
        times.push(await untilShown(page, page.getByRole('button', { name: /^Pay .* and run$/ }), 'Done'));
    }
    return times.slice(1);
}

/** The creator pauses an agent and lets it go on. */
async function pauses(page, { agents }) {
    await page.getByRole('banner').getByRole('button', { name: /…/ }).click();
    await page.getByRole('dialog', { name: 'Wallet' }).locator('label').filter({ hasText: /^Creator/ }).click();
    await page.getByRole('radio', { name: /^Creator/, checked: true }).waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    await page.goto(`/creator/agents/${agents[1].agent_id}`);
    const times = [];
    for (let time = 0; time < TIMES / 2; time += 1) {
        for (const [button, done] of [
            ['Pause the agent', 'The agent is paused.'],
            ['Resume the agent', 'The agent takes calls.'],
        ]) {
            times.push(await untilShown(page, page.getByRole('button', { name: button }), done));
            await page.waitForTimeout(1_000);
        }
    }
    return times;
}

export async function measureWaits(browser, line) {
    const { context, page } = await visitor(browser, line);
    await page.goto('/');
    await connect(page);
    const [paid, paused] = [await payments(page, line), await pauses(page, line)];
    await context.close();
    return [
        row('dashboard_pay_p50_ms', quantile(paid, 0.5), 'ms', 400),
        row('dashboard_pay_p95_ms', quantile(paid, 0.95), 'ms'),
        row('dashboard_pause_p50_ms', quantile(paused, 0.5), 'ms', 1_000),
        row('dashboard_pause_p95_ms', quantile(paused, 0.95), 'ms'),
    ];
}
