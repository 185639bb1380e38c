// How long ago, how long still, and exactly when.

import { expect, test } from 'vitest';

import { agoText, exactTime, momentText } from '../../src/shared/time/moments';
import { exactSpan, spanText } from '../../src/shared/time/spans';

test('an age is its largest unit, and never rounded up', () => {
    expect([-5, 0, 59, 60, 119, 7_199, 86_399, 172_800].map(agoText)).toEqual([
        'just now',
        'just now',
        'just now',
        '1 minute ago',
        '1 minute ago',
        '1 hour ago',
        '23 hours ago',
        '2 days ago',
    ]);
});

test('what is left has its two largest units, rounded up to a second', () => {
    expect([-1, 0, 0.2, 59, 60, 200, 3_600, 187_200, 86_401].map(spanText)).toEqual([
        '0 s',
        '0 s',
        '1 s',
        '59 s',
        '1 min',
        '3 min 20 s',
        '1 h',
        '2 d 4 h',
        '1 d',
    ]);
    expect(exactSpan(86_401)).toBe('1 d 1 s');
});

test('an exact time is UTC, and what is no time is no text', () => {
    expect(exactTime(1_795_659_758)).toBe('2026-11-26 02:22:38 UTC');
    expect(momentText(1_795_659_758)).toBe('2026-11-26 02:22 UTC');
    expect(exactTime(NaN)).toBe('');
});
