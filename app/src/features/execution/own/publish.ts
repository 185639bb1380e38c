// Gives a result to the service, which stores it by its hash. Needs no session: the record on the chain names the hash.

import { hexOf } from '../../../chain/accounts';
import { contentPath } from '../../../shared/content';
import { words } from '../words';

/** The service takes it when its index shows the record, a moment after the transaction. */
const ATTEMPTS = 20;
const PAUSE_MS = 500;

/** `sha256:` and hexadecimal digits, of the bytes in UTF-8. */
export const sha256Of = async (text: string): Promise<string> =>
    `sha256:${hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))}`;

/** Throws with the service's reason if it does not take the content. */
export async function publish(sha256: string, content: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
        const answer = await put(contentPath(sha256), content);
        if (answer?.ok === true) return;
        const isForNow = answer === null || answer.status >= 500 || answer.status === 409 || answer.status === 429;
        if (!isForNow || attempt === ATTEMPTS)
            throw new Error(answer === null ? words.give.noService : await reasonOf(answer));
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}

/** Sent without the cookie, so that the service asks for no token. `null`: no answer. */
const put = (path: string, content: string): Promise<Response | null> =>
    fetch(path, {
        method: 'PUT',
        body: new Blob([content], { type: 'application/octet-stream' }),
        credentials: 'omit',
    }).catch(() => null);

async function reasonOf(answer: Response): Promise<string> {
    const body = (await answer.json().catch(() => null)) as { error?: { message?: string } } | null;
    return body?.error?.message ?? words.give.refused(answer.status);
}
