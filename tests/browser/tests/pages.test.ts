// Every page, phone and desktop, light and dark: accessible, whole, and with its picture.

import { expect, inject, test } from 'vitest';

import { SCHEMES, WIDTHS, type Width, useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { picture } from '../support/gallery';
import { PAGES } from '../support/pages';

const open = useBrowser();
const network = inject('network');

const cases = PAGES.flatMap((page) => (Object.keys(WIDTHS) as Width[]).map((width) => ({ ...page, width })));

// Some at the same time: a page mostly waits for the chain.
test.concurrent.each(cases)('the page $name is accessible and whole, light and dark ($width)', async ({ name, path, ready, width }) => {
    const { page, context, problems } = await open({ width });
    await page.goto(path(network));
    await ready(page, network);
    for (const scheme of SCHEMES) {
        await page.emulateMedia({ colorScheme: scheme });
        expect(await layoutProblems(page), scheme).toEqual([]);
        expect(await accessibilityProblems(page), scheme).toEqual([]);
        await picture(page, `${name}-${width}-${scheme}`);
    }
    expect(problems).toEqual([]);
    await context.close();
});
