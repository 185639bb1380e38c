// Which tab of the page of an own agent is shown.

import { expect, test } from 'vitest';

import { TABS, readTab, shownTab, tabsOf } from '../../src/features/creator/manage/tabs';

test('the tab of the URL is shown, and what is no tab is left out', () => {
    for (const tab of TABS) expect(readTab({ tab })).toEqual({ tab });
    for (const tab of ['', 'Listing', 'constructor', '__proto__', 7, null, undefined])
        expect(readTab({ tab })).toEqual({});
    expect(shownTab(undefined, false)).toBe('listing');
    expect(shownTab('key', false)).toBe('key');
});

test('a delisted agent has no terms to change, and begins with the way out', () => {
    expect(tabsOf(true)).not.toContain('collateral');
    expect(shownTab(undefined, true)).toBe('leave');
    expect(shownTab('collateral', true)).toBe('leave');
    expect(shownTab('calls', true)).toBe('calls');
});
