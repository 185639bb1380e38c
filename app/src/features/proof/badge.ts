// The code that shows an agent's badge on a creator's own site. A name becomes text of that site and nothing else.

import { visible } from '../../shared/text/visible';
import { words } from './words';

const MOST_CHARACTERS = 100;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const inHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
/** Every ASCII sign can be escaped in Markdown. */
const inMarkdown = (text: string): string => text.replace(/[!-/:-@[-`{-~]/g, '\\$&');

export type BadgeCodes = { readonly html: string; readonly markdown: string; readonly badge: string };

/** `origin`: of the site that serves badge and page. */
export function badgeCodes(agentId: string, name: string, origin: string): BadgeCodes {
    const page = new URL(`/agents/${encodeURIComponent(agentId)}`, origin).href;
    const badge = new URL(`/badge/${encodeURIComponent(agentId)}.svg`, origin).href;
    // One printable line.
    const line = visible(name).replace(/\s+/g, ' ').trim();
    const alt = words.badgeAlt(Array.from(line).slice(0, MOST_CHARACTERS).join(''));
    return {
        html: `<a href="${inHtml(page)}"><img src="${inHtml(badge)}" alt="${inHtml(alt)}"></a>`,
        markdown: `[![${inMarkdown(alt)}](${badge})](${page})`,
        badge,
    };
}
