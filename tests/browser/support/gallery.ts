// Pictures of pages, written with CRTX_PICTURES=1: `target/browser/<page>-<width>-<scheme>.png`.

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';

const folder = path.resolve(import.meta.dirname, '../../../target/browser');

export async function picture(page: Page, name: string): Promise<void> {
    if (process.env['CRTX_PICTURES'] !== '1') return;
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true, animations: 'disabled' });
}
