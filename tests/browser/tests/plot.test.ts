// The plot of figures by day, as its reader uses it: by keys, by pointer, by touch, and as a table.

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { picture } from '../support/gallery';
import { troubledNetwork } from '../support/market';

const open = useBrowser();

const dayText = (age: number): string => new Date(Date.now() - age * 86_400_000).toISOString().slice(0, 10);

async function openPlot(page: Page) {
    await troubledNetwork(page);
    await page.goto('/network');
    const plot = page.getByRole('figure', { name: 'Totals by day' });
    await plot.getByRole('slider').waitFor();
    return plot;
}

test('every choice of a plot is made by the keyboard, and each day says its values', async () => {
    const { page, context, problems } = await open();
    const plot = await openPlot(page);
    const slider = plot.getByRole('slider', { name: /^Totals by day, Executions/ });
    const says = (): Promise<string | null> => slider.getAttribute('aria-valuetext');

    await plot.getByRole('combobox', { name: 'Show' }).focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => plot.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    // The newest day is shown as soon as the plot has the focus.
    expect(await slider.evaluate((element) => element === document.activeElement)).toBe(true);
    await plot.getByText(/^Completed10$/).waitFor();
    expect(await says()).toMatch(/: Completed: 10, Failed: 2$/);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    expect(await says()).toMatch(/: Completed: 56, Failed: 0$/);
    await page.keyboard.press('ArrowLeft');
    expect(await says()).toMatch(/: Completed: no execution ended, Failed: no execution ended$/);
    await page.keyboard.press('Home');
    expect(await says()).toMatch(/: Completed: 102, Failed: 2$/);
    await picture(page, 'plot-keys');
    await page.keyboard.press('Escape');
    await plot.getByText(/^Completed102$/).waitFor({ state: 'detached' });

    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    expect(await slider.getAttribute('aria-valuetext')).toMatch(/7 days before: \d+|7 days before: no execution ended/);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const rows = await plot.getByRole('table', { name: 'Totals of each day' }).getByRole('row').allInnerTexts();
    expect(rows.slice(1).map((row) => row.split(/\s/)[0])).toEqual([0, 1, 2, 5, 6].map(dayText));
    expect(await layoutProblems(page)).toEqual([]);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});

test('a pointer and a finger show the day below them', async () => {
    const { page, context, problems } = await open({ width: 'phone', scheme: 'dark' });
    const plot = await openPlot(page);
    const drawing = plot.locator('svg');
    await drawing.scrollIntoViewIfNeeded();
    const box = (await drawing.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const tip = plot.locator('strong').filter({ hasText: /\d{4}$/ });
    const day = (age: number): string => new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }).format(Date.now() - age * 86_400_000);
    await page.touchscreen.tap(box.x + box.width - 3, box.y + 60);
    expect(await tip.innerText()).toContain(day(0));
    await picture(page, 'plot-touch');
    await page.mouse.move(box.x + 1, box.y + 60);
    await expect.poll(() => tip.innerText()).toContain(day(29));
    expect(await layoutProblems(page)).toEqual([]);
    await page.mouse.move(box.x + 60, box.y - 40);
    await tip.waitFor({ state: 'detached' });
    expect(problems).toEqual([]);
    await context.close();
});
