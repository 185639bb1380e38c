// Listings as an enemy writes them: shown as text, in their place, in each width. What the service refuses already is
// put into its answers on the way to the browser, so that the dashboard does not depend on it.

import { expect, test } from 'vitest';

import { type Visit, useBrowser } from '../support/browser';
import { accessibilityProblems } from '../support/checks';
import { picture } from '../support/gallery';
import { HOSTILE, harm } from '../support/hostile';
import { ownNetwork } from '../support/ownNetwork';

const open = useBrowser();
const { agents } = ownNetwork();
const agentId = agents[0]?.agent_id ?? '';

/** Replaces the texts of every agent in the answers of the API. */
async function replaceTexts({ page }: Visit, text: string): Promise<void> {
    await page.route(/\/v1\/agents(\/[^/]+)?(\?|$)/, async (route) => {
        const answer = await route.fetch();
        const body = (await answer.json()) as Record<string, unknown>;
        const changed = 'agents' in body ? { ...body, agents: (body['agents'] as object[]).map((agent) => hostile(agent, text)) } : hostile(body, text);
        await route.fulfill({ response: answer, json: changed });
    });
}

const hostile = (agent: object, text: string): object => ({
    ...agent,
    name: text,
    tagline: text,
    tags: [text, 'data'],
    ...('description' in agent && {
        description: text,
        input_schema: {
            type: 'object',
            required: [text],
            properties: { [text]: { type: 'string', description: text, default: text, enum: [text], pattern: text } },
        },
        output_schema: { type: text, properties: { __proto__: text, a: { type: 'array', items: { type: text } } } },
        creator: { ...(agent as unknown as { creator: object }).creator, display_name: text },
    }),
});

const cases = Object.entries(HOSTILE).flatMap(([name, text]) => [
    { name, text, width: 'phone' as const },
    { name, text, width: 'desktop' as const },
]);

test.each(cases)('$name in a list changes nothing else ($width)', async ({ name, text, width }) => {
    const visit = await open({ width });
    await replaceTexts(visit, text);
    await visit.page.goto('/');
    await visit.page.locator('li h2 a').first().waitFor();
    expect(await harm(visit.page)).toEqual([]);
    if (name === 'word') {
        // No card is longer than a small part of what the word itself would take.
        const heights = await visit.page.locator('li:has(h2 a)').evaluateAll((cards) => cards.map((card) => card.clientHeight));
        expect(Math.max(...heights)).toBeLessThan(600);
    }
    expect(visit.problems).toEqual([]);
    await visit.context.close();
});

test.each(cases)('$name on the page of an agent changes nothing else ($width)', async ({ name, text, width }) => {
    const visit = await open({ width });
    await replaceTexts(visit, text);
    await visit.page.goto(`/agents/${agentId}`);
    await visit.page.getByRole('heading', { name: 'What it does' }).waitFor();
    await visit.page.getByRole('tab', { name: 'Rust' }).click();
    expect(await harm(visit.page)).toEqual([]);
    expect(visit.problems).toEqual([]);
    if (name !== 'word') {
        expect(await accessibilityProblems(visit.page)).toEqual([]);
        await picture(visit.page, `hostile-${name}-${width}`);
    }
    await visit.context.close();
});

test('hidden characters are shown by their number', async () => {
    const visit = await open();
    await replaceTexts(visit, HOSTILE.direction);
    await visit.page.goto(`/agents/${agentId}`);
    const heading = visit.page.getByRole('heading', { level: 1 });
    await heading.waitFor();
    expect(await heading.textContent()).toContain('U+202E');
    expect(await heading.textContent()).not.toContain('\u202e');
    expect(await visit.page.title()).not.toContain('\u202e');
    await visit.context.close();
});
