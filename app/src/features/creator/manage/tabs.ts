// The tabs of the page that manages an agent, as they stand in the URL.

export const TABS = ['listing', 'calls', 'collateral', 'key', 'webhooks', 'leave'] as const;

export type Tab = (typeof TABS)[number];

/** A delisted agent has no terms to change: what is left is its record and the way out. */
const OF_DELISTED: readonly Tab[] = ['listing', 'calls', 'webhooks', 'leave'];

export const tabsOf = (isDelisted: boolean): readonly Tab[] => (isDelisted ? OF_DELISTED : TABS);

export type ManageSearch = { tab?: Tab };

/** Reads the URL. What is no tab is left out. */
export function readTab({ tab }: Record<string, unknown>): ManageSearch {
    const found = TABS.find((known) => known === tab);
    return found === undefined ? {} : { tab: found };
}

/** The tab that is shown: the one of the URL if the agent has it. */
export function shownTab(asked: Tab | undefined, isDelisted: boolean): Tab {
    if (asked !== undefined && tabsOf(isDelisted).includes(asked)) return asked;
    return isDelisted ? 'leave' : 'listing';
}
