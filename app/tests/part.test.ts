// @vitest-environment happy-dom
// Parts of the page that do not arrive: the service is away, or has a newer version.

import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { PartError, part, reloadOnce } from '../src/shared/part';

const lost = (): Promise<never> => Promise.reject(new TypeError('Failed to fetch dynamically imported module'));

beforeEach(() => {
    vi.useFakeTimers();
    sessionStorage.clear();
});
afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
});

test('a part is waited for while the service is away, and nothing is loaded again', async () => {
    let isUp = false;
    vi.stubGlobal('fetch', async () => new Response(null, { status: isUp ? 200 : 503 }));
    const load = vi.fn(() => (isUp ? Promise.resolve('the part') : lost()));
    const arrived = part(load);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(load).toHaveBeenCalledTimes(1);
    isUp = true;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await arrived).toBe('the part');
    expect(load).toHaveBeenCalledTimes(2);
});

test('a part that a service that answers does not have is of an older version', async () => {
    vi.stubGlobal('fetch', async () => new Response(null));
    const error = await part(lost).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PartError);
});

test('a page is loaded again once, and not for ever', () => {
    const reload = vi.fn();
    expect([reloadOnce(reload), reloadOnce(reload), reloadOnce(reload)]).toEqual([true, false, false]);
    expect(reload).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(61_000);
    expect(reloadOnce(reload)).toBe(true);
});

test('a browser that remembers nothing is not led into a circle', () => {
    vi.stubGlobal('sessionStorage', {
        getItem: () => null,
        setItem: () => {
            throw new DOMException('full', 'QuotaExceededError');
        },
    });
    const reload = vi.fn();
    expect(reloadOnce(reload)).toBe(false);
    expect(reload).not.toHaveBeenCalled();
});

test('every part of the page is loaded in this way', () => {
    const src = path.resolve(import.meta.dirname, '../src');
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
        (name) => /\.tsx?$/.test(name) && !name.startsWith('generated'),
    );
    const bare = files.filter((name) =>
        /(?<!part\(\(\) => )\bimport\(/.test(readFileSync(path.join(src, name), 'utf8')),
    );
    expect(files.length).toBeGreaterThan(100);
    expect(bare).toEqual([]);
});
