// What the search of the header offers for a text: an execution, an address, agents, pages and actions.

import { isAddress } from '../../shared/address';
import type { Schemas } from '../../shared/api/client';
import { formatUsdc } from '../../shared/money';
import type { PageLink } from '../navigation';
import { words } from '../words';

export type Entry = {
    /** Unique among all entries. */
    readonly id: string;
    readonly label: string;
    readonly hint?: string;
    /** Where it leads; an entry without it is an action of this page. */
    readonly to?: string;
    readonly search?: Readonly<Record<string, string>>;
};

export type Section = {
    readonly id: 'open' | 'agents' | 'pages' | 'actions';
    readonly entries: readonly Entry[];
};

/** The ids of actions that lead nowhere. */
export const CHANGE_THEME = 'change-theme';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const { find } = words;

/** Pages that have an address or an id in theirs. `exists`: whether this route is built. */
function openOf(text: string, exists: (route: string) => boolean): Entry[] {
    if (UUID.test(text)) {
        const id = text.toLowerCase();
        return [{ id: `execution-${id}`, label: find.execution, hint: id, to: `/executions/${id}` }];
    }
    if (!isAddress(text)) return [];
    const places = [
        { route: '/agents/$agentId', label: find.agent, to: `/agents/${text}` },
        { route: '/creators/$wallet', label: find.creator, to: `/creators/${text}` },
        { route: '/', label: find.agentsOf, to: '/', search: { creator: text } },
        { route: '/proof/$record', label: find.proof, to: `/proof/${text}` },
        { route: '/disputes/$disputeId', label: find.dispute, to: `/disputes/${text}` },
    ];
    return places
        .filter(({ route }) => exists(route))
        .map(({ route, ...place }) => ({ id: `${route}-${text}`, hint: text, ...place }));
}

const ACTIONS: readonly Entry[] = [
    { id: 'new-agent', label: find.listAgent, to: '/creator/new' },
    { id: 'new-key', label: find.makeKey, to: '/keys/new' },
    { id: 'new-dispute', label: find.raiseDispute, to: '/disputes/new' },
    { id: CHANGE_THEME, label: find.changeTheme },
];

const agentEntry = ({ agent_id, name, price_per_call_usdc }: Schemas['AgentSummary']): Entry => ({
    id: `agent-${agent_id}`,
    label: name,
    hint: find.price(formatUsdc(price_per_call_usdc)),
    to: `/agents/${encodeURIComponent(agent_id)}`,
});

/** All words of the text are in the label or the hint, in any order. */
function matches({ label, hint = '' }: { label: string; hint?: string }, text: string): boolean {
    const said = `${label} ${hint}`.toLowerCase();
    return text
        .toLowerCase()
        .split(/\s+/)
        .every((word) => said.includes(word));
}

/** `agents`: those that the service found. */
export function sectionsOf(
    typed: string,
    agents: readonly Schemas['AgentSummary'][],
    pages: readonly PageLink[],
    exists: (route: string) => boolean,
): Section[] {
    const text = typed.trim();
    const links = pages.map(({ to, label, hint, search }) => ({
        id: `page-${label}`,
        label,
        hint,
        to,
        ...(search && { search }),
    }));
    const sections: Section[] = [
        { id: 'open', entries: openOf(text, exists) },
        { id: 'agents', entries: agents.map(agentEntry) },
        { id: 'pages', entries: links.filter((entry) => matches(entry, text)) },
        {
            id: 'actions',
            entries: ACTIONS.filter((entry) => (entry.to === undefined || exists(entry.to)) && matches(entry, text)),
        },
    ];
    return sections.filter(({ entries }) => entries.length > 0);
}
