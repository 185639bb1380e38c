// What a visitor of the first page waits for and loads, with an empty cache at each visit.

import { gzipSync } from 'node:zlib';

import { quantile, row, visitor } from './marketplace.mjs';

const VISITS = 30;
const SLOW_VISITS = 5;
/** Visits of somebody who presses keys. The metric of the web is the third quartile of the longest interaction of a visit. */
const BUSY_VISITS = 9;
/** Slow 4G and a processor at a quarter, as Chromium's own tools set them. */
const SLOW = { offline: false, latency: 150, downloadThroughput: (1.6 * 1024 * 1024) / 8, uploadThroughput: (750 * 1024) / 8 };
const SLOWDOWN = 4;

/** Notes what the browser says about itself, from the first moment of the page. */
function observe(name) {
    window.measured = { lcp: 0, cls: 0, list: 0, interactions: [] };
    const on = (type, note, options = {}) =>
        new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true, ...options });
    on('largest-contentful-paint', ({ startTime }) => (window.measured.lcp = startTime));
    on('layout-shift', ({ value, hadRecentInput }) => (window.measured.cls += hadRecentInput ? 0 : value));
    on('event', ({ interactionId, duration }) => interactionId > 0 && window.measured.interactions.push(duration), { durationThreshold: 16 });
    const look = () => {
        const isThere = [...document.querySelectorAll('main a')].some((link) => link.textContent.includes(name));
        // The second frame begins once the first one is painted.
        if (isThere) requestAnimationFrame(() => requestAnimationFrame(() => (window.measured.list = performance.now())));
        else requestAnimationFrame(look);
    };
    look();
}

async function open(browser, line, isSlow = false) {
    const { context, page } = await visitor(browser, line);
    await page.addInitScript(observe, line.agents[0].name);
    if (isSlow) {
        const session = await context.newCDPSession(page);
        await session.send('Network.enable');
        await session.send('Network.emulateNetworkConditions', SLOW);
        await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
    }
    const answers = [];
    page.on('response', (response) => answers.push(response));
    await page.goto('/', { waitUntil: 'commit' });
    await page.waitForFunction(() => window.measured?.list > 0, undefined, { polling: 50, timeout: 60_000 });
    return { context, page, answers, measured: () => page.evaluate(() => window.measured) };
}

async function visit(browser, line, isSlow) {
    const { context, page, measured } = await open(browser, line, isSlow);
    // What moves late counts, too.
    await page.waitForTimeout(500);
    const figures = await measured();
    await context.close();
    return figures;
}

/** Presses and keys of somebody who looks for an agent; the longest time until the page shows it. */
async function interactions(browser, line) {
    const { context, page, measured } = await open(browser, line, true);
    const search = page.getByRole('searchbox').or(page.getByLabel('Search agents')).first();
    await search.click();
    await page.keyboard.type('text', { delay: 120 });
    await page.waitForTimeout(1_500);
    await search.fill('');
    await page.waitForTimeout(1_000);
    for (const key of ['Control+k', 'Escape']) {
        await page.keyboard.press(key);
        await page.waitForTimeout(500);
    }
    const connect = page.getByRole('banner').getByRole('button', { name: 'Connect' });
    if (await connect.isVisible()) await connect.click();
    await page.waitForTimeout(500);
    await page.keyboard.press('Escape');
    await page.waitForTimeout(1_000);
    const { interactions: times } = await measured();
    await context.close();
    // Shorter ones than 16 ms are not told.
    return Math.max(16, ...times);
}

/** Requests until the list is there, and the compressed size of the scripts among them. */
async function weight(browser, line) {
    const { context, answers } = await open(browser, line);
    const scripts = answers.filter((answer) => answer.request().resourceType() === 'script');
    const bodies = await Promise.all(scripts.map((answer) => answer.body()));
    const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
    await context.close();
    return { requests: answers.length, kib: bytes / 1024 };
}

export async function measureVisits(browser, line) {
    // The first visit of a browser starts its processes.
    await visit(browser, line, false);
    const [fast, slow] = [[], []];
    for (let index = 0; index < VISITS; index += 1) fast.push(await visit(browser, line, false));
    for (let index = 0; index < SLOW_VISITS; index += 1) slow.push(await visit(browser, line, true));
    const of = (visits, name, share) => quantile(visits.map((figures) => figures[name]), share);
    const busy = [];
    for (let index = 0; index < BUSY_VISITS; index += 1) busy.push(await interactions(browser, line));
    const { requests, kib } = await weight(browser, line);
    return [
        row('dashboard_first_list_p50_ms', of(fast, 'list', 0.5), 'ms'),
        row('dashboard_first_list_p95_ms', of(fast, 'list', 0.95), 'ms', 1_000),
        row('dashboard_first_list_max_ms', of(fast, 'list', 1), 'ms'),
        row('dashboard_lcp_p95_ms', of(fast, 'lcp', 0.95), 'ms', 1_000),
        row('dashboard_lcp_slow_p50_ms', of(slow, 'lcp', 0.5), 'ms', 1_800),
        row('dashboard_cls_max', Math.max(of(fast, 'cls', 1), of(slow, 'cls', 1)), 'score', 0.02),
        row('dashboard_inp_slow_p75_ms', quantile(busy, 0.75), 'ms', 80),
        row('dashboard_inp_slow_max_ms', Math.max(...busy), 'ms'),
        row('dashboard_first_page_js_kib', kib, 'KiB', 150),
        row('dashboard_first_page_requests', requests, 'count', 12),
    ];
}
