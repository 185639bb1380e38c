// Loads parts of the page when they are needed. If the service is away, loading waits for it. If the service has a
// newer version without the part, the page must be loaded again.

import { whenServiceAnswers } from './service';
import { words } from './words';

export class PartError extends Error {
    constructor() {
        super(words.service.newer);
    }
}

/** `load` is a dynamic import; `npm test` refuses one without this. */
export async function part<T>(load: () => Promise<T>): Promise<T> {
    try {
        return await load();
    } catch {
        await whenServiceAnswers();
        return load().catch(() => {
            throw new PartError();
        });
    }
}

/** A press that follows at once is answered first. */
const SOON_MS = 50;

/** Loads a part that will probably be needed: the pointer is over what opens it. */
export const partSoon = (load: () => Promise<unknown>): void =>
    void setTimeout(() => void load().catch(() => undefined), SOON_MS);

const RELOADED = 'crtx.reloaded';
/** A second failure within this time has another cause than an old page. */
const ONCE_MS = 60_000;

/** Loads the page again, once. `false`: that was done a moment ago, or this browser cannot remember it. */
export function reloadOnce(reload: () => void = () => window.location.reload()): boolean {
    try {
        if (Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) < ONCE_MS) return false;
        sessionStorage.setItem(RELOADED, String(Date.now()));
    } catch {
        return false;
    }
    reload();
    return true;
}
