// Sign-in with a wallet: the service sets a cookie that scripts cannot read, and gives the token that requests which
// change something repeat ("Sign-in" in docs/api.md).

import { ApiError, type Schemas, WITH_COOKIE, api, asWallet, body, setCsrfToken } from '../api/client';
import { part } from '../part';
import type { Connection } from './store';
import { signMessage } from './standard';
import { tellTabs } from './tabs';
import { words } from '../words';

export type Session = { readonly wallet: string; readonly expiresAt: string };

/** Until when this browser may have a session. The cookie itself cannot be read. */
const UNTIL = 'crtx.session';

/** Without it the service is not asked: a visitor who never signed in would get an error in the console. */
const mayHaveSession = (): boolean => {
    try {
        // Not compared with the clock of this machine, which can be wrong: the service decides.
        return localStorage.getItem(UNTIL) !== null;
    } catch {
        return true;
    }
};

export function rememberSession(until: string | null): void {
    try {
        if (until === null) localStorage.removeItem(UNTIL);
        else localStorage.setItem(UNTIL, until);
    } catch {
        // Then the service is always asked.
    }
}

/** The session of this browser, or `null`. */
export async function currentSession(): Promise<Session | null> {
    if (!mayHaveSession()) return null;
    try {
        const session = await body(
            api.GET('/v1/sessions/{session_id}', { ...WITH_COOKIE, params: { path: { session_id: 'current' } } }),
        );
        setCsrfToken(session.csrf_token ?? null);
        return { wallet: session.wallet, expiresAt: session.expires_at };
    } catch (error) {
        if (!(error instanceof ApiError && error.status === 401)) throw error;
        rememberSession(null);
        return null;
    }
}

/** Lets the wallet sign the service's challenge, and opens a session. */
export async function signIn({ wallet, account }: Connection, network: Schemas['NetworkResponse']): Promise<Session> {
    const challenge = await body(api.POST('/v1/sign-in/challenge', { body: { address: account.address } }));
    checkChallenge(challenge, account.address, network);
    // Not needed before somebody signs in, and large.
    const { getBase58Decoder } = await part(() => import('@solana/kit'));
    const signature = await signMessage(wallet, account, new TextEncoder().encode(challenge.message));
    const session = await body(
        api.POST('/v1/sign-in', {
            ...WITH_COOKIE,
            body: {
                message: challenge.message,
                signature: `ed25519:${getBase58Decoder().decode(signature)}`,
                session: 'cookie',
            },
        }),
    );
    setCsrfToken(session.csrf_token ?? null);
    rememberSession(session.expires_at);
    tellTabs({ session: session.expires_at });
    return { wallet: session.wallet, expiresAt: session.expires_at };
}

/** Ends the session, if it is the one of this wallet. */
export async function signOut(wallet: string): Promise<void> {
    await api.DELETE('/v1/sessions/{session_id}', { ...asWallet(wallet), params: { path: { session_id: 'current' } } });
    setCsrfToken(null);
    rememberSession(null);
    tellTabs({ session: null });
}

/** The text is for this page, this wallet and this network. */
function checkChallenge(
    challenge: Schemas['ChallengeAnswer'],
    address: string,
    network: Schemas['NetworkResponse'],
): void {
    const { input, message } = challenge;
    const opening = `${new URL(network.base_url).host} wants you to sign in with your Solana account:\n${address}\n`;
    const isOurs = message.startsWith(opening) && message.includes(`\nChain ID: ${network.chain}\n`);
    if (!isOurs || input.address !== address || input.chainId !== network.chain) {
        throw new ApiError(0, 'wrong_challenge', words.wallet.wrongText);
    }
}
