// Every page, narrow and wide, light and dark: accessible and whole. Two files share the pages, so that two workers do.

import { expect, test } from 'vitest';

import { SCHEMES, WIDTHS, type Width, useBrowser } from './browser';
import { accessibilityProblems, layoutProblems } from './checks';
import { picture } from './gallery';
import { ownNetwork } from './ownNetwork';
import { PAGES } from './pages';

/** Half of the pages, each brought into its state at one width. */
export function testPages(half: 0 | 1, first: Width, second: Width): void {
    const open = useBrowser();
    const network = ownNetwork();
    const pages = PAGES.filter((_, number) => number % 2 === half);

    // Some at the same time: a page mostly waits for the chain.
    test.concurrent.each(pages)('the page $name is accessible and whole, narrow and wide, light and dark', async ({ name, path, ready }) => {
        const { page, context, problems } = await open({ width: first });
        await page.goto(path(network));
        await ready(page, network);
        for (const width of [first, second]) {
            await page.setViewportSize(WIDTHS[width]);
            for (const scheme of SCHEMES) {
                await page.emulateMedia({ colorScheme: scheme });
                expect(await layoutProblems(page), `${width}, ${scheme}`).toEqual([]);
                const rules = scheme === SCHEMES[0] ? 'all' : 'colours';
                expect(await accessibilityProblems(page, rules), `${width}, ${scheme}`).toEqual([]);
                await picture(page, `${name}-${width}-${scheme}`);
            }
        }
        expect(problems).toEqual([]);
        await context.close();
    });
}
