// The reference of the HTTP API at `/docs`: readable, linkable, and what it sends is what it shows.

import { execFileSync } from 'node:child_process';

import type { Page, Request } from 'playwright-core';
import { expect, test } from 'vitest';

import { SCHEMES, useBrowser } from '../support/browser';
import { accessibilityProblems, layoutProblems } from '../support/checks';
import { keyField, operationOf } from '../support/docsPages';
import { connectNew, signIn } from '../support/newWallet';
import { ownNetwork } from '../support/ownNetwork';
import { follow } from '../support/runs';

const open = useBrowser();
const network = ownNetwork();
const { api_key: apiKey, agents, base_url: base } = network;
const agentId = agents[0]?.agent_id ?? '';

const LIST = 'get-v1-executions';
const PAY = 'post-v1-agents-agent_id-execute';

/** The requests that a press of Send leads to. */
function sentBy(page: Page): Request[] {
    const sent: Request[] = [];
    page.on('request', (request) => {
        if (new URL(request.url()).pathname.startsWith('/v1/')) sent.push(request);
    });
    return sent;
}

const unfold = async (page: Page, anchor: string): Promise<void> => {
    await page.goto(`/docs/api#${anchor}`);
    await operationOf(page, anchor).getByRole('heading', { name: 'Answers' }).waitFor();
};

const send = async (page: Page, anchor: string): Promise<void> => {
    await operationOf(page, anchor).getByRole('button', { name: 'Send' }).click();
    await operationOf(page, anchor).getByText(/after \d+ ms/).waitFor();
};

const answerOf = (page: Page, anchor: string) => operationOf(page, anchor).getByRole('region', { name: 'Body of the answer' });

/** Everything that the browser keeps for this origin, and the address. */
const keptBy = (page: Page): Promise<string> =>
    page.evaluate(async () => {
        const databases = await indexedDB.databases();
        const stores = [{ ...localStorage }, { ...sessionStorage }, document.cookie, databases, await caches.keys()];
        return JSON.stringify([location.href, history.state, stores, document.documentElement.outerHTML]);
    });

test('every operation of the description is on the page, in groups, and a link to one opens it', async () => {
    const { page, context, problems } = await open();
    const { paths } = (await (await fetch(`${base}/openapi.json`)).json()) as { paths: Record<string, Record<string, unknown>> };
    const count = Object.values(paths).flatMap((item) => Object.keys(item)).length;
    await page.goto('/docs/api');
    await page.getByText(`${count} operations`, { exact: true }).waitFor();
    expect(await page.getByRole('heading', { level: 3 }).count()).toBe(count);
    expect(await page.getByRole('button', { expanded: true }).count()).toBe(0);
    await page.getByRole('navigation', { name: 'Operations' }).getByRole('link', { name: 'POST /v1/keys', exact: true }).click();
    await operationOf(page, 'post-v1-keys').getByText('session_public_key').first().waitFor();
    expect(new URL(page.url()).hash).toBe('#post-v1-keys');

    const other = await context.newPage();
    await unfold(other, PAY);
    expect(await operationOf(other, PAY).evaluate((element) => Math.abs(element.getBoundingClientRect().top) < innerHeight / 2)).toBe(true);
    await operationOf(other, PAY).getByText('insufficient_balance', { exact: true }).waitFor();
    // Folded again by its line, and the address of what is opened next is a link to it.
    await operationOf(other, PAY).getByRole('button', { expanded: true }).click();
    expect(await other.getByRole('button', { expanded: true }).count()).toBe(0);
    await operationOf(other, LIST).getByRole('button').first().click();
    await other.waitForURL(new RegExp(`#${LIST}$`));
    expect(problems).toEqual([]);
    await context.close();
});

test('the filter leaves what has the words', async () => {
    const { page, context, problems } = await open();
    await page.goto('/docs/api');
    await page.getByLabel('Filter').fill('insufficient_balance');
    await page.getByText(/^1 of \d+ operations$/).waitFor();
    expect(await page.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual([expect.stringContaining('/execute')]);
    await page.getByLabel('Filter').fill('no such words');
    await page.getByText('No operation has these words').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('the key is in the copied command and in the request, and nowhere that lasts', async () => {
    const { page, context, problems } = await open();
    await unfold(page, LIST);
    const sent = sentBy(page);
    const operation = operationOf(page, LIST);
    expect(await keyField(page).getAttribute('type')).toBe('password');
    expect(await keyField(page).getAttribute('autocomplete')).toBe('off');
    await keyField(page).fill(apiKey);
    await operation.getByLabel(/^limit/).fill('3');
    const shown = () => operation.getByRole('region', { name: /^The command/ }).innerText();
    expect(await shown()).not.toContain(apiKey);
    await operation.getByRole('button', { name: /^Copy/ }).click();
    await operation.getByRole('button', { name: /^Copied/ }).waitFor();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    expect(command).toContain(`Authorization: Bearer ${apiKey}`);
    await send(page, LIST);
    await operation.getByText('200 OK').waitFor();
    const request = sent.find((one) => new URL(one.url()).pathname === '/v1/executions');
    expect(new URL(request?.url() ?? '').search).toBe('?limit=3');
    const headers = (await request?.allHeaders()) ?? {};
    expect([headers['authorization'], headers['cookie']]).toEqual([`Bearer ${apiKey}`, undefined]);
    await operation.getByText('x-request-id').waitFor();
    await answerOf(page, LIST).getByText('"executions"').waitFor();
    // The command is what was sent.
    const answer = JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8' })) as { limit: number };
    expect(answer.limit).toBe(3);
    expect((await keptBy(page)).includes(apiKey)).toBe(false);
    await page.getByLabel('Show the key in the examples').check();
    expect(await shown()).toContain(apiKey);
    await page.reload();
    await keyField(page).waitFor();
    expect(await keyField(page).inputValue()).toBe('');
    expect((await keptBy(page)).includes(apiKey)).toBe(false);
    expect(problems).toEqual([]);
    await context.close();
});

test('a paid call says what it does before it is sent, and shows the result', async () => {
    const { page, context, problems } = await open();
    await unfold(page, PAY);
    const operation = operationOf(page, PAY);
    await operation.getByText('Spends money').waitFor();
    expect(await operation.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await operation.getByText('Fill in agent_id.').waitFor();
    await keyField(page).fill(apiKey);
    await operation.getByLabel(/^agent_id/).fill(agentId);
    const sent = sentBy(page);
    await operation.getByLabel(/^agent_id/).press('Enter');
    await operation.getByLabel('Body (JSON)').fill('{"task": "it\'s <b>one</b> $HOME \\u00fc"}');
    await send(page, PAY);
    await operation.getByText('200 OK').waitFor();
    await answerOf(page, PAY).getByText('"result_hash"').waitFor();
    // Enter in a field has paid nothing: the press of the button was the only one.
    expect(sent.filter((request) => request.method() === 'POST')).toHaveLength(1);
    expect(problems).toEqual([]);
    await context.close();
});

test('an error of the service is shown as it is, with its code', async () => {
    const { page, context, problems } = await open();
    await unfold(page, LIST);
    await operationOf(page, LIST).getByText('The page sends it without a credential, and the service refuses it').waitFor();
    await send(page, LIST);
    await answerOf(page, LIST).getByText('"unauthorized"').waitFor();
    await unfold(page, 'get-ipfs-cid');
    await operationOf(page, 'get-ipfs-cid').getByLabel(/^cid/).fill('not/a?cid#');
    await send(page, 'get-ipfs-cid');
    await answerOf(page, 'get-ipfs-cid').getByText('"invalid_request"').waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('without a key the session of the page is used, with its wallet and its token', async () => {
    const { page, context, problems } = await open();
    await page.goto('/keys');
    const wallet = await connectNew(page);
    await signIn(page);
    await page.getByText('No key yet').waitFor();
    await page.getByRole('contentinfo').getByRole('link', { name: 'HTTP API' }).click();
    await page.getByRole('heading', { level: 1, name: 'HTTP API' }).waitFor();
    const anchor = 'post-v1-metadata';
    await page.getByRole('navigation', { name: 'Operations' }).getByRole('link', { name: 'POST /v1/metadata', exact: true }).click();
    await operationOf(page, anchor).getByText('Changes something').waitFor();
    const sent = sentBy(page);
    // It takes no API key, so the session is used although one is there.
    await keyField(page).fill(apiKey);
    await operationOf(page, anchor).getByText('as the wallet that is signed in').waitFor();
    await send(page, anchor);
    const headers = (await sent.find((one) => new URL(one.url()).pathname === '/v1/metadata')?.allHeaders()) ?? {};
    expect(headers['authorization']).toBeUndefined();
    expect(headers['x-crtx-wallet']).toBe(wallet);
    expect(headers['cookie']).toContain('crtx_session=');
    expect(headers['x-csrf-token']).toMatch(/^\S{16,}$/);
    await answerOf(page, anchor).getByText('"invalid_request"').waitFor();
    await follow(page, 'Agents');
    await page.goBack();
    await keyField(page).waitFor();
    expect(await keyField(page).inputValue()).toBe('');
    expect(problems).toEqual([]);
    await context.close();
});

test('a long answer is shown in part, as text', async () => {
    const { page, context, problems } = await open();
    const html = `<img src=x onerror="document.title='taken'">${'x'.repeat(10_000_000)}`;
    await page.route('**/v1/status', (route) => route.fulfill({ contentType: 'text/html', body: html }));
    await unfold(page, 'get-v1-status');
    await send(page, 'get-v1-status');
    await page.getByText('these are its first 64 KiB').waitFor();
    await page.getByText('<img src=x').waitFor();
    expect(await page.title()).toBe('HTTP API · crtx');
    expect((await page.content()).length).toBeLessThan(1_000_000);
    expect(problems).toEqual([]);
    await context.close();
});

test('a hostile description shows as text, and the page stays whole', async () => {
    const { page, context, problems } = await open({ width: 'phone' });
    const text = `\u202e<script>document.title='taken'</script>\`${'w'.repeat(300)}\``;
    const self = { type: 'object', description: text, properties: { [text]: { $ref: '#/components/schemas/Self' }, all: { enum: Array.from({ length: 5_000 }, (_, index) => `${text.slice(0, 30)}${index}`) } } };
    const described = {
        tags: [text.slice(0, 300)], summary: text, description: text, security: [{ [text]: [] }],
        parameters: [{ name: text, in: 'query', description: text, schema: { $ref: '#/components/schemas/Self' } }, { name: 'cookie', in: 'cookie' }, null],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Self' } } } },
        responses: { '200': { description: text, content: { a: { schema: { $ref: '#/components/schemas/None' } } } } },
    };
    const paths = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`/v1/${index}/{${'p'.repeat(300)}}`, { post: described }]));
    await page.route('**/openapi.json', (route) => route.fulfill({ json: { paths, components: { schemas: { Self: self } } } }));
    await page.goto('/docs/api');
    await page.getByText('500 operations', { exact: true }).waitFor();
    await page.getByRole('heading', { level: 3 }).getByRole('button').first().click();
    await page.getByRole('heading', { name: 'Answers' }).waitFor();
    expect(await layoutProblems(page)).toEqual([]);
    expect(await page.title()).toBe('HTTP API · crtx');
    expect(problems).toEqual([]);
    await context.close();
});

test('every operation is accessible, folded and unfolded, light and dark', async () => {
    const { page, context, problems } = await open();
    await page.goto('/docs/api');
    const lines = page.getByRole('heading', { level: 3 }).getByRole('button');
    await lines.first().waitFor();
    for (const line of await lines.all()) await line.click();
    for (const scheme of SCHEMES) {
        await page.emulateMedia({ colorScheme: scheme });
        expect(await accessibilityProblems(page), scheme).toEqual([]);
    }
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await layoutProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
});
