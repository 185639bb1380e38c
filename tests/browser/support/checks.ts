// What holds on every page: no violation that axe finds, no sideways scrolling, one heading, a title, landmarks.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type AxeResults = { violations: { id: string; help: string; nodes: { target: unknown[]; failureSummary?: string }[] }[] };

const EVERY_RULE = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The rules whose verdict depends on colours; a change of the colour scheme changes no other verdict. */
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** Every violation of all rules, or of those of colours, as text that names the element. */
export async function accessibilityProblems(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
    if (await page.evaluate(() => !('axe' in window))) await page.evaluate(axe);
    const { violations } = await page.evaluate(
        async (runOnly) => {
            const run = (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe;
            return run.run({ resultTypes: ['violations'], runOnly });
        },
        rules === 'all' ? EVERY_RULE : { type: 'rule', values: RULES_OF_COLOURS },
    );
    return violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id} (${help}) at ${target.join(' ')}: ${failureSummary ?? ''}`),
    );
}

/** What is wrong with the frame of the page. */
export async function layoutProblems(page: Page): Promise<string[]> {
    return page.evaluate(() => {
        const found: string[] = [];
        const root = document.documentElement;
        if (root.scrollWidth > root.clientWidth) found.push(`scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
        const headings = document.querySelectorAll('h1').length;
        if (headings !== 1) found.push(`${headings} main headings`);
        if (!document.title.endsWith('crtx')) found.push(`the title is ${document.title}`);
        for (const landmark of ['header', 'main', 'footer', 'nav']) {
            if (document.querySelector(landmark) === null) found.push(`no ${landmark}`);
        }
        return found;
    });
}
