// Reads a document: marked takes the Markdown apart, and this gives every heading its anchor.

import { type Token, type Tokens, lexer } from 'marked';

export type Heading = { readonly depth: number; readonly text: string; readonly anchor: string };

export type Parsed = {
    readonly title: string;
    /** Without the title. */
    readonly tokens: readonly Token[];
    readonly headings: readonly Heading[];
    readonly anchorOf: ReadonlyMap<Token, string>;
};

export function parseDocument(markdown: string): Parsed {
    const all = lexer(markdown);
    const isTitle = (token: Token): token is Tokens.Heading => token.type === 'heading' && token.depth === 1;
    const title = all.find(isTitle);
    const tokens = all.filter((token) => token !== title);
    const anchorOf = new Map<Token, string>();
    const used = new Map<string, number>();
    const headings: Heading[] = [];
    for (const token of tokens) {
        if (token.type !== 'heading') continue;
        const { depth, tokens: inner } = token as Tokens.Heading;
        const text = plainText(inner);
        const anchor = unique(slug(text), used);
        anchorOf.set(token, anchor);
        headings.push({ depth, text, anchor });
    }
    return { title: title === undefined ? '' : plainText(title.tokens), tokens, headings, anchorOf };
}

/** The anchors of code hosts, so that links work in both places. */
const slug = (text: string): string =>
    text
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-');

function unique(anchor: string, used: Map<string, number>): string {
    const count = used.get(anchor) ?? 0;
    used.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
}

/** Without marks. */
export const plainText = (tokens: readonly Token[] | undefined): string =>
    (tokens ?? [])
        .map((token) =>
            'tokens' in token && token.tokens
                ? plainText(token.tokens)
                : 'text' in token
                  ? String(token.text)
                  : token.raw,
        )
        .join('');
