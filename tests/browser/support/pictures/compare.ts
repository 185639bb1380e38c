// A picture against the committed one. With the same Chromium both are equal; another build draws letters a little
// differently, so some pixels of a square may differ, and each by a little.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pixelmatch from 'pixelmatch';
import type { Page } from 'playwright-core';
import { PNG } from 'pngjs';

import { small } from './small';

const committed = path.resolve(import.meta.dirname, '../../pictures');
const written = path.resolve(import.meta.dirname, '../../../../target/browser/pictures');
/** `accept`: what is seen now is right from now on. `record`: the same, after a marketplace was asked for new answers. */
export const IS_ACCEPTING = ['accept', 'record'].includes(process.env['CRTX_PICTURES'] ?? '');

/** Difference of a pixel, from 0 to 1, that counts. */
const PIXEL = 0.05;
/** Of a square of so many pixels in each direction at most this share may differ. A word that moves is a fifth of one. */
const SQUARE = 16;
const SHARE = 0.1;
/** Of a page in CSS pixels: what is below looks like what is above. */
const HIGHEST = 2_000;
const TRIES = 12;
const PAUSE_MS = 250;

/** What is wrong with the page, or nothing. A page that is still changing is looked at again. */
export async function differenceTo(page: Page, name: string): Promise<string[]> {
    let last = await shot(page);
    for (let tries = 0; tries < TRIES; tries += 1) {
        if (!IS_ACCEPTING && compare(name, last).share <= SHARE) return [];
        await page.waitForTimeout(PAUSE_MS);
        const next = await shot(page);
        if (next.equals(last) && (IS_ACCEPTING || tries > 2)) break;
        last = next;
    }
    if (IS_ACCEPTING) {
        mkdirSync(committed, { recursive: true });
        writeFileSync(path.join(committed, `${name}.png`), small(last));
        return [];
    }
    const { share, picture } = compare(name, last);
    mkdirSync(written, { recursive: true });
    writeFileSync(path.join(written, `${name}.png`), last);
    if (picture !== undefined) writeFileSync(path.join(written, `${name}-difference.png`), PNG.sync.write(picture));
    const what = Number.isFinite(share) ? `${Math.round(share * 100)} % of a square of ${SQUARE} pixels` : 'its size';
    return [`${name} differs in ${what}: see target/browser/pictures/. If it is right, CRTX_PICTURES=accept accepts it`];
}

async function shot(page: Page): Promise<Buffer> {
    const { width, height } = await page.evaluate(() => ({ width: innerWidth, height: document.documentElement.scrollHeight }));
    return page.screenshot({ fullPage: true, animations: 'disabled', clip: { x: 0, y: 0, width, height: Math.min(height, HIGHEST) } });
}

type Comparison = { /** Of the square that differs most. */ share: number; picture?: PNG };

function compare(name: string, bytes: Buffer): Comparison {
    const file = path.join(committed, `${name}.png`);
    if (!existsSync(file)) return { share: Infinity };
    const [before, now] = [PNG.sync.read(readFileSync(file)), PNG.sync.read(bytes)];
    const { width, height } = now;
    if (before.width !== width || before.height !== height) return { share: Infinity };
    const picture = new PNG({ width, height });
    const count = pixelmatch(before.data, now.data, picture.data, width, height, { threshold: PIXEL, diffMask: true, includeAA: true });
    return { share: count === 0 ? 0 : densest(picture), picture };
}

/** `picture` has the pixels that differ, and nothing else. */
function densest({ data, width, height }: PNG): number {
    const counts = new Map<number, number>();
    const across = Math.ceil(width / SQUARE);
    for (let pixel = 0; pixel < width * height; pixel += 1) {
        if (data[4 * pixel + 3] === 0) continue;
        const square = Math.floor(pixel / width / SQUARE) * across + Math.floor((pixel % width) / SQUARE);
        counts.set(square, (counts.get(square) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values()) / SQUARE ** 2;
}
