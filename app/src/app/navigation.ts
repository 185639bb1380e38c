// The pages that the header links to, in their order. A page that is not built yet has no link.

import type { Schemas } from '../shared/api/client';
import { mayStop } from '../shared/roles';
import { words } from './words';

/** What a page is for. Its name in the header is `words.groups`. */
export type Group = 'market' | 'buy' | 'sell';

export type PageLink = {
    readonly to: string;
    readonly label: string;
    /** Half a sentence: what someone does there. */
    readonly hint: string;
    /** Without a group the link stands in the header itself. */
    readonly group?: Group;
    /** Selects the part of the page that is meant. */
    readonly search?: Readonly<Record<string, string>>;
    /** Whether the header shows the link to this wallet. Without it: to everybody. */
    readonly isFor?: (wallet: string, roles: Schemas['NetworkRoles']) => boolean;
};

/** Who may use the admin's page: the admin, who is nominated to follow, and the guardian, who may stop things there. */
const mayUseAdminPage: NonNullable<PageLink['isFor']> = (wallet, roles) =>
    mayStop(wallet, roles) || wallet === roles.pending_admin;

const { pages } = words;

export const PAGES: readonly PageLink[] = [
    { group: 'market', to: '/', ...pages.agents },
    { group: 'market', to: '/network', ...pages.network },
    { group: 'market', to: '/docs', ...pages.docs },
    { group: 'buy', to: '/overview', ...pages.overview },
    { group: 'buy', to: '/executions', ...pages.executions },
    { group: 'buy', to: '/keys', ...pages.keys },
    { group: 'buy', to: '/disputes', ...pages.disputes },
    { group: 'sell', to: '/creator', ...pages.creator },
    { group: 'sell', to: '/creator/new', ...pages.list },
    { group: 'sell', to: '/webhooks', ...pages.webhooks },
    {
        to: '/disputes',
        search: { role: 'resolver' },
        ...pages.resolve,
        isFor: (wallet, { resolver }) => wallet === resolver,
    },
    { to: '/admin', ...pages.admin, isFor: mayUseAdminPage },
];

/** The links for a wallet, of the pages that exist. */
export const pagesFor = (
    exists: (to: string) => boolean,
    wallet: string | null,
    roles: Schemas['NetworkRoles'] | undefined,
): readonly PageLink[] =>
    PAGES.filter(
        ({ to, isFor }) =>
            exists(to) && (isFor === undefined || (wallet !== null && roles !== undefined && isFor(wallet, roles))),
    );

/** What stands in the header, in its order: a group with its pages, or one page. */
export type Entry = { readonly group: Group; readonly pages: readonly PageLink[] } | PageLink;

export function entriesOf(links: readonly PageLink[]): readonly Entry[] {
    const groups = [...new Set(links.map(({ group }) => group))].filter((group) => group !== undefined);
    return [
        ...groups.map((group) => ({ group, pages: links.filter((page) => page.group === group) })),
        ...links.filter(({ group }) => group === undefined),
    ];
}

/** Pages of agents belong to the list of agents, which is at the root. */
const HOME = ['/', '/agents'];

/** The link of the page that is open: the one with most of its address. */
export function currentOf(
    links: readonly PageLink[],
    pathname: string,
    search: Readonly<Record<string, unknown>>,
): PageLink | undefined {
    const isWithin = (to: string): boolean => pathname === to || pathname.startsWith(`${to}/`);
    const matches = links.filter((page) => {
        if (page.to === '/') return pathname === '/' || HOME.slice(1).some(isWithin);
        const asked = Object.entries(page.search ?? {});
        return isWithin(page.to) && asked.every(([name, value]) => search[name] === value);
    });
    const weight = ({ to, search: asked }: PageLink): number => 10 * to.length + Object.keys(asked ?? {}).length;
    return matches.toSorted((one, other) => weight(other) - weight(one))[0];
}
