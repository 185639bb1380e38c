// Signing in with a wallet. A service chooses the text that is signed, so only a challenge of the known form is signed, for
// this wallet at this service on this network, and for a short time: no transaction, and no text for another service.

import type { Bytes } from './bytes.js';
import { CrtxError } from './errors.js';
import type { components } from './generated/api.js';
import type { Http } from './http.js';
import { signatureText } from './wire.js';

type Schemas = components['schemas'];

/** Their nodes prove by these hashes which network they belong to. Any other one is somebody's own. */
const NETWORKS = new Map([
    ['5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', 'solana:mainnet'],
    ['EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', 'solana:devnet'],
]);
/** Challenges live for five minutes. */
const LONGEST_CHALLENGE_MS = 10 * 60_000;
/** Between the clocks of this machine and of the service. */
const MAX_SKEW_MS = 10 * 60_000;
const MAX_CHARS = 2_048;

const FORM = new RegExp(
    [
        '^(.+) wants you to sign in with your Solana account:',
        '(.+)',
        '',
        'Sign in to crtx\\. This moves no money and gives no permission to spend\\.',
        '',
        'URI: (.+)',
        'Version: 1',
        'Chain ID: (.+)',
        'Nonce: (.+)',
        'Issued At: (.+)',
        'Expiration Time: (.+)$',
    ].join('\n'),
);

export type Place = {
    readonly baseUrl: string;
    readonly wallet: string;
    /** Of the wallet's own node. */
    readonly genesisHash: string;
    /** Milliseconds since 1970. */
    readonly now: number;
};

/** Throws unless the text is a sign-in of this wallet at this place. */
export function checkSignIn(text: string, { baseUrl, wallet, genesisHash, now }: Place): void {
    const refuse = (what: string): never => {
        throw new CrtxError(`${baseUrl} asks to sign ${what}; nothing was signed`);
    };
    const [, domain = '', address, uri = '', network, , from = '', to = ''] =
        (text.length <= MAX_CHARS ? FORM.exec(text) : null) ?? [];
    if (address !== wallet) refuse(`something else than a sign-in of ${wallet}`);
    if (domain !== new URL(baseUrl).host || placeOf(uri) !== placeOf(baseUrl)) {
        refuse(`in at another place (${domain}, ${uri})`);
    }
    const own = NETWORKS.get(genesisHash) ?? 'solana:localnet';
    if (network !== own) refuse(`in on ${network ?? '?'}, and the node of the wallet is of ${own}`);
    const [issued, expires] = [timeOf(from), timeOf(to)];
    const [life, age] = [expires - issued, now - issued];
    const isNow = life > 0 && life <= LONGEST_CHALLENGE_MS && Math.abs(age) <= MAX_SKEW_MS;
    if (!isNow) refuse(`in from ${from} to ${to}, which is too long or not now (is the clock of this machine right?)`);
}

/** The address as a whole: scheme, host, port and path. */
function placeOf(url: string): string {
    try {
        return new URL(url).href.replace(/\/+$/, '');
    } catch {
        return '';
    }
}

const timeOf = (text: string): number =>
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;

/** A new session of the wallet. Resolves with its token. */
export async function signIn(
    http: Http,
    place: Omit<Place, 'now'>,
    sign: (text: string) => Promise<Bytes>,
    signal: AbortSignal,
): Promise<string> {
    const post = async <T>(path: string, body: object): Promise<T> =>
        (await http.send({ method: 'POST', path, body: JSON.stringify(body), signal })).body as T;
    const { message } = await post<Schemas['ChallengeAnswer']>('/v1/sign-in/challenge', { address: place.wallet });
    checkSignIn(message, { ...place, now: Date.now() });
    const signature = signatureText(await sign(message));
    const signed = { message, signature, session: 'bearer' };
    const { token } = await post<Schemas['SignInAnswer']>('/v1/sign-in', signed);
    if (token == null) throw new CrtxError('the service gives no token');
    return token;
}
