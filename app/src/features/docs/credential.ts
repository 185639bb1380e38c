// The credential that a request of this page carries.

import type { Operation } from './reference';
import { bearerWord } from './request';
import { apiWords as words } from './apiWords';

export type Credential =
    | { readonly kind: 'key'; readonly token: string }
    | { readonly kind: 'session'; readonly wallet: string }
    | { readonly kind: 'none' };

/** The API key that a reader has written, and whether the examples show it. */
export type Key = { readonly token: string; readonly isShown: boolean };

const API_KEY = 'api_key';
const SESSION = 'session';
const COOKIE = 'session_cookie';

/** Sends the key only where a key is accepted, and the cookie only where no key is sent. */
export function credentialFor({ credentials }: Operation, token: string, wallet: string | null): Credential {
    const scheme = token.startsWith('crtx_session_') ? SESSION : API_KEY;
    if (token !== '' && credentials.includes(scheme)) return { kind: 'key', token };
    return wallet !== null && credentials.includes(COOKIE) ? { kind: 'session', wallet } : { kind: 'none' };
}

const HIDDEN = '\u2022'.repeat(8);

/** The header of the example. Without a key it names a variable of the shell, as the samples of an agent do. */
export function authorizationOf(
    { credentials, isOpen }: Operation,
    credential: Credential,
    isShown: boolean,
): string | null {
    if (credential.kind === 'key') return bearerWord(isShown ? credential.token : HIDDEN);
    if (isOpen) return null;
    return credentials.includes(API_KEY)
        ? '"Authorization: Bearer $CRTX_API_KEY"'
        : '"Authorization: Bearer $CRTX_SESSION"';
}

/** Names as words: `API key, session or session cookie`. */
export function credentialWords({ credentials, isOpen }: Operation): string {
    if (credentials.length === 0) return words.operation.noCredential;
    const names = credentials.map((name) => name.replaceAll('_', ' ').replace(/^api/, 'API'));
    const last = names.at(-1) ?? '';
    const all = names.length > 1 ? words.operation.or(names.slice(0, -1).join(', '), last) : last;
    return isOpen ? words.operation.optional(all) : all;
}
