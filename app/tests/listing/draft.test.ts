// What a browser keeps of a draft, also when it was written by another version of the page or by somebody else.

import { beforeEach, expect, test, vi } from 'vitest';

import {
    BLANK_DRAFT,
    changesOf,
    mergedChanges,
    newDraft,
    putChanges,
    putNewDraft,
    removeNewDraft,
} from '../../src/features/listing/draft';
import { EMPTY } from '../../src/features/listing/form/fields';
import { EXAMPLE_CALL, knownCall } from '../../src/features/listing/test/testCall';
import { FakeStorage } from '../run/support/storage';
import { GOOD } from './support';

const storage = new FakeStorage();
const KEY = 'crtx.listing.new.W';

beforeEach(() => {
    vi.stubGlobal('localStorage', storage);
    removeNewDraft('W');
    storage.isFull = false;
});

test('a draft is kept by wallet, whole, until it is removed', () => {
    const draft = {
        ...BLANK_DRAFT,
        fields: GOOD,
        hasKeyFile: true,
        attempt: { genesisHash: 'g', index: 3, sent: [{ resultKey: 'k', document: 'd' }] },
    };
    putNewDraft('W', draft);
    expect([newDraft('W'), newDraft('X')]).toEqual([draft, BLANK_DRAFT]);
    removeNewDraft('W');
    expect(newDraft('W')).toEqual(BLANK_DRAFT);
});

test.each([
    '{',
    '5',
    '[]',
    '{"fields": 7}',
    '{"fields": {"name": 5, "tags": "data", "price": null}}',
    '{"fields": {"tags": [1]}}',
])('what is no draft is none: %s', (text) => {
    storage.setItem(KEY, text);
    expect(newDraft('W').fields).toEqual(EMPTY);
});

test('nothing is signed when the browser keeps nothing', () => {
    storage.isFull = true;
    expect(() => putNewDraft('W', BLANK_DRAFT)).toThrow();
});

test('an edit keeps what differs from the chain, also when the chain moves on', () => {
    const changes = mergedChanges(GOOD, {}, { name: 'Other', price: GOOD.price, tags: ['data', 'own-tag'] });
    expect(changes).toEqual({ name: 'Other' });
    putChanges('A', changes);
    expect(changesOf('A')).toEqual({ name: 'Other' });
    expect(mergedChanges({ ...GOOD, name: 'Other' }, changes, { timeout: '61' })).toEqual({ timeout: '61' });
    putChanges('A', {});
    expect(storage.getItem('crtx.listing.edit.A')).toBeNull();
});

test('the requests of a test are taken as far as they are of the right kind', () => {
    const call = { task: 't', parameters: { a: 1 }, failing: { task: 'f', parameters: '{}' } };
    expect(knownCall(JSON.parse(JSON.stringify(call)))).toEqual(call);
    for (const stored of [null, 5, { task: 5, parameters: [], failing: { task: 1 } }])
        expect(knownCall(stored)).toEqual(EXAMPLE_CALL);
});
