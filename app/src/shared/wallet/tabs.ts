// What the tabs of this browser tell each other: they share one session cookie and one remembered account. The news has
// what is stored, because another process may see the storage of this one a moment later.

export type TabNews = {
    /** Another account is remembered, or none. */
    readonly account: string | null;
    /** Until when there is a session; it was opened, replaced or ended. */
    readonly session: string | null;
};

let channel: BroadcastChannel | null | undefined;

const opened = (): BroadcastChannel | null =>
    (channel ??= typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('crtx.tabs'));

/** Tells the other tabs; this tab does not receive its own news. */
export const tellTabs = (news: Partial<TabNews>): void => opened()?.postMessage(news);

export function onTabNews<Kind extends keyof TabNews>(
    kind: Kind,
    listener: (value: TabNews[Kind]) => void,
): () => void {
    const heard = ({ data }: MessageEvent<Partial<TabNews>>): void => {
        const value = data[kind];
        if (value !== undefined) listener(value);
    };
    opened()?.addEventListener('message', heard);
    return () => opened()?.removeEventListener('message', heard);
}
