// Texts as an enemy writes them, and the proof that none of them did anything.

import type { Page } from 'playwright-core';

const WORD = 'w'.repeat(100_000);

/** Each must be shown as text and change nothing but its own place. */
export const HOSTILE = {
    markup: '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><b>bold</b>',
    link: '[click](javascript:window.pwned=1) javascript:window.pwned=1 <a href="javascript:window.pwned=1">x</a>',
    entity: '&lt;script&gt;window.pwned=1&lt;/script&gt; ${window.pwned=1} {{constructor.constructor("window.pwned=1")()}}',
    direction: 'safe \u202egnp.exe\u202c \u2066\u2067tail\u2069',
    invisible: 'pay\u200bpal \ufeffx\u00ady \u{e0041}\u{e0042} \u0000\u001b[31m',
    marks: `z${'\u0361'.repeat(500)}algo`,
    quotes: `'; touch pwned; ' "; import os # \\" \`\${window.pwned=1}\` """ r#"x"#`,
    word: WORD,
} as const;

/** Whether anything ran, was linked, or left its place. */
export const harm = (page: Page): Promise<string[]> =>
    page.evaluate(() => {
        const found: string[] = [];
        if ('pwned' in window) found.push('a script ran');
        for (const link of document.querySelectorAll('a')) {
            if (!/^(https?:|\/|#)/.test(link.getAttribute('href') ?? '/')) found.push(`a link to ${link.getAttribute('href')}`);
        }
        for (const tag of ['main script', 'main iframe', 'main object', 'main b', 'main img']) {
            if (document.querySelector(tag) !== null) found.push(`an element ${tag}`);
        }
        const { scrollWidth, clientWidth } = document.documentElement;
        if (scrollWidth > clientWidth) found.push(`the page is ${scrollWidth} wide`);
        return found;
    });
