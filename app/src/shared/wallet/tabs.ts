// What the tabs of this browser tell each other: they share one session cookie and one remembered account.

export type TabNews =
    /** Another account is remembered, or none. */
    | 'account'
    /** The session was opened, replaced or ended. */
    | 'session';

let channel: BroadcastChannel | null | undefined;

const opened = (): BroadcastChannel | null =>
    (channel ??= typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('crtx.tabs'));

/** The tab that tells does not hear itself. */
export const tellTabs = (news: TabNews): void => opened()?.postMessage(news);

export function onTabNews(news: TabNews, listener: () => void): () => void {
    const heard = ({ data }: MessageEvent<unknown>): void => {
        if (data === news) listener();
    };
    opened()?.addEventListener('message', heard);
    return () => opened()?.removeEventListener('message', heard);
}
