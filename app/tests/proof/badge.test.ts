// @vitest-environment happy-dom
// The code of a badge on a stranger's site: a hostile name stays text.

import { describe, expect, it } from 'vitest';

import { badgeCodes } from '../../src/features/proof/badge';

const AGENT = '4LWe7yJS7sgcZSnGtPgo6XMby8omoqrZPM1Hj7B8bQj7';
const of = (name: string) => badgeCodes(AGENT, name, 'https://crtx.example');

describe('the code of a badge', () => {
    it('shows the badge and leads to the public page', () => {
        expect(of('text-stats')).toEqual({
            badge: `https://crtx.example/badge/${AGENT}.svg`,
            html: `<a href="https://crtx.example/agents/${AGENT}"><img src="https://crtx.example/badge/${AGENT}.svg" alt="Record of text-stats on crtx"></a>`,
            markdown: `[![Record of text\\-stats on crtx](https://crtx.example/badge/${AGENT}.svg)](https://crtx.example/agents/${AGENT})`,
        });
    });

    it('keeps a hostile name as text, on one line and short', () => {
        const names = [
            '"><script>alert(1)</script>',
            "' onerror='x",
            '](javascript:alert(1)) ![',
            'a\nb\u202ec`',
            'w'.repeat(10_000),
        ];
        for (const name of names) {
            const { html, markdown } = of(name);
            const place = document.createElement('div');
            place.innerHTML = html;
            const elements = [...place.querySelectorAll('*')].map(({ tagName }) => tagName);
            expect(elements, name).toEqual(['A', 'IMG']);
            expect(place.querySelector('img')?.getAttributeNames(), name).toEqual(['src', 'alt']);
            expect(markdown, name).not.toMatch(/\n|[^\\]\]\(javascript|[^\\]`/);
            expect(markdown.length, name).toBeLessThan(600);
        }
    });
});
