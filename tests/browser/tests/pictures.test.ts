// Every page looks as it did when its pictures were accepted: phone and desktop, light and dark, from kept answers.

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';

import { SCHEMES, useChromium } from '../support/browser';
import { differenceTo } from '../support/pictures/compare';
import { PICTURED } from '../support/pictures/pages';
import { record } from '../support/pictures/record';
import { SHAPES, replay } from '../support/pictures/replay';
import { watchRequests } from '../support/pictures/settled';
import { type World, readWorld } from '../support/pictures/world';
import { ownNetwork } from '../support/ownNetwork';

const chromium = useChromium(true);
let world: World;

beforeAll(async () => {
    if (process.env['CRTX_PICTURES'] === 'record') await record(chromium(), ownNetwork());
    world = readWorld();
}, 300_000);

/** All four pictures of the page that is open. */
async function differencesOf(page: Page, name: string, settled: () => Promise<void>): Promise<string[]> {
    const found: string[] = [];
    for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[]) {
        await page.setViewportSize(SHAPES[shape]);
        await settled();
        for (const scheme of SCHEMES) {
            await page.emulateMedia({ colorScheme: scheme });
            found.push(...(await differenceTo(page, `${name}-${shape}-${scheme}`)));
        }
    }
    return found;
}

test.concurrent.each(PICTURED)('the page $name looks as accepted', async ({ name, path, as, ready }) => {
    const { page, context, problems } = await replay(chromium(), world, as);
    const settled = watchRequests(page);
    await page.goto(path(world.places));
    await settled();
    await ready?.(page);
    const differences = await differencesOf(page, name, settled);
    expect([...problems, ...differences]).toEqual([]);
    await context.close();
});

test('every component looks as accepted, and the question before an action', async () => {
    const app = path.resolve(import.meta.dirname, '../../../app');
    await promisify(execFile)('node_modules/.bin/vite', ['build', '--config', 'gallery/vite.config.ts', '--logLevel', 'error'], { cwd: app });
    const { page, context, problems } = await replay(chromium(), world, undefined, path.join(app, '../target/browser/gallery'));
    const settled = watchRequests(page);
    const differences: string[] = [];
    for (const group of ['Words', 'Fields', 'Messages', 'Lists', 'Plots', 'Buttons']) {
        await page.goto(`/?group=${group}`);
        await page.getByRole('heading', { name: 'Components' }).waitFor();
        differences.push(...(await differencesOf(page, `components-${group.toLowerCase()}`, settled)));
    }
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('button', { name: 'Delist for good' }).click();
    differences.push(...(await differencesOf(page, 'components-question', settled)));
    expect([...problems, ...differences]).toEqual([]);
    await context.close();
});
