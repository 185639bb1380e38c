// @vitest-environment happy-dom
// What someone writes for an agent survives a reload of the tab.

import { beforeEach, expect, test } from 'vitest';

import { rememberRequest, rememberedRequest } from '../../src/features/run/draftStore';

const AGENT = '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8';
const SCHEMA = { type: 'object', properties: { words: { type: 'integer' } } };

beforeEach(() => sessionStorage.clear());

test('every text is kept as it was typed, also what cannot be read yet', () => {
    const request = { task: ' half a ', parameters: { as: 'fields', draft: ['12x', ['a', '']] } } as const;
    rememberRequest(AGENT, SCHEMA, request);
    expect(rememberedRequest(AGENT, SCHEMA)).toEqual(request);
    const json = { task: '', parameters: { as: 'json', text: '{"words": ' } } as const;
    rememberRequest(AGENT, SCHEMA, json);
    expect(rememberedRequest(AGENT, SCHEMA)).toEqual(json);
});

test('fields of another schema are not filled with it, and the task stays', () => {
    rememberRequest(AGENT, SCHEMA, { task: 'Count.', parameters: { as: 'fields', draft: ['1'] } });
    expect(rememberedRequest(AGENT, { type: 'object' })).toEqual({ task: 'Count.', parameters: null });
});

test('what another version has stored is not taken for a draft', () => {
    for (const stored of ['null', '{', '[]', '{"task":1}']) {
        sessionStorage.setItem(`crtx.request.${AGENT}`, stored);
        expect(rememberedRequest(AGENT, SCHEMA)).toBeNull();
    }
    const schema = JSON.stringify(SCHEMA);
    for (const parameters of [{ words: 1 }, { as: 'fields', draft: [1] }, { as: 'json' }, null]) {
        sessionStorage.setItem(`crtx.request.${AGENT}`, JSON.stringify({ task: 'x', schema, parameters }));
        expect(rememberedRequest(AGENT, SCHEMA)).toEqual({ task: 'x', parameters: null });
    }
});
