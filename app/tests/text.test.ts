// Texts of strangers: every character that nobody sees is shown by its number, and ordinary text stays as it is.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { nameOf, piecesOf, visible } from '../src/shared/text/visible';

const whole = (text: string): string =>
    piecesOf(text)
        .map((piece) => ('text' in piece ? piece.text : piece.hidden))
        .join('');

test('nothing is lost', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => whole(text) === text));
});

test('what is shown as it is has no control or format character, apart from joiners', () => {
    fc.assert(
        fc.property(fc.string({ unit: 'binary' }), (text) => {
            const shown = piecesOf(text)
                .map((piece) => ('text' in piece ? piece.text : ''))
                .join('');
            expect(shown.replace(/[\n\t\u200c\u200d]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        }),
    );
});

test.each([
    '\u202e',
    '\u2066',
    '\u200b',
    '\ufeff',
    '\u00ad',
    '\u0000',
    '\u001b',
    '\u2028',
    '\u3164',
    '\u{e0041}',
    '\u200f',
])('the character %o is visible', (character) => expect(visible(`a${character}b`)).toBe(`a[${nameOf(character)}]b`));

test.each([
    'plain',
    'Grüße',
    'naïve e\u0301',
    'مرحبا',
    '日本語',
    '👩‍👩‍👧 family',
    'می\u200cخواهم',
    'line\nbreak\ttab',
    '🏳️‍🌈',
])('the text %o stays as it is', (text) => expect(visible(text)).toBe(text));

test('piles of marks are cut', () => {
    const pieces = piecesOf(`a${'\u0301'.repeat(100)}`);
    expect(pieces).toEqual([{ text: `a${'\u0301'.repeat(4)}` }, { hidden: '\u0301'.repeat(96) }]);
    expect(visible(`a${'\u200b'.repeat(30)}b`)).toBe('a[U+200B\u00d730]b');
});
