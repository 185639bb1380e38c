// Every page at one width, light and dark: accessible, whole, and with its picture. A file for each width, so that two workers
// share them.

import { expect, test } from 'vitest';

import { SCHEMES, type Width, useBrowser } from './browser';
import { accessibilityProblems, layoutProblems } from './checks';
import { picture } from './gallery';
import { ownNetwork } from './ownNetwork';
import { PAGES } from './pages';

export function testEveryPage(width: Width): void {
    const open = useBrowser();
    const network = ownNetwork();

    // Some at the same time: a page mostly waits for the chain.
    test.concurrent.each(PAGES)(`the page $name is accessible and whole, light and dark (${width})`, async ({ name, path, ready }) => {
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
}
