// The pages that the header links to, in their order. A line whose page is not built yet is left out of the header.

import type { Schemas } from '../shared/api/client';
import { mayStop } from '../shared/roles';

export type PageLink = {
    readonly to: string;
    readonly label: string;
    /** Whether the header shows the link to this wallet. Without it: to everybody. */
    readonly isFor?: (wallet: string, roles: Schemas['NetworkRoles']) => boolean;
};

/** Who may use the admin's page: the admin, who is nominated to follow, and the guardian, who may stop things there. */
const mayUseAdminPage: NonNullable<PageLink['isFor']> = (wallet, roles) =>
    mayStop(wallet, roles) || wallet === roles.pending_admin;

export const PAGES: readonly PageLink[] = [
    { to: '/', label: 'Agents' },
    { to: '/executions', label: 'Executions' },
    { to: '/keys', label: 'Keys' },
    { to: '/webhooks', label: 'Webhooks' },
    { to: '/creator', label: 'My agents' },
    { to: '/disputes', label: 'Disputes' },
    { to: '/network', label: 'Network' },
    { to: '/admin', label: 'Admin', isFor: mayUseAdminPage },
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
