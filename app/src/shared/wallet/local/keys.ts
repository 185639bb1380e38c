// Keys of the local network's wallets: those of the demo's roles, which `crtx up` hands to its own page, and one that
// this browser makes and keeps. Worthless outside of the local network.

import { createKeyPairFromBytes, generateKeyPair, getAddressFromPublicKey, getBase58Encoder } from '@solana/kit';

import { ApiError } from '../../api/client';
import { words } from '../../words';

export type LocalKey = {
    readonly address: string;
    /** Such as `Caller`; shown as the account's name. */
    readonly label: string;
    readonly keys: CryptoKeyPair;
};

type DemoWallet = { label: string; address: string; secret_key: string };

/**
 * The demo's wallets. Only the page of `crtx up` itself gets them; their keys cannot be read from the browser again.
 */
export async function demoKeys(): Promise<LocalKey[]> {
    const answer = await fetch('/local/wallets', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
    });
    if (!answer.ok) throw new ApiError(answer.status, 'no_demo_wallets', words.local.none);
    const { wallets } = (await answer.json()) as { wallets: DemoWallet[] };
    return Promise.all(
        wallets.map(async ({ label, address, secret_key }) => {
            const keys = await createKeyPairFromBytes(getBase58Encoder().encode(secret_key));
            return { label, address, keys };
        }),
    );
}

const DATABASE = 'crtx-local-wallet';
const STORE = 'keys';
const OWN = 'own';

/** The wallet of this browser: made once, kept in IndexedDB as a key that cannot be exported. */
export async function ownKey(): Promise<LocalKey> {
    const database = await openDatabase();
    const stored = await request(
        database.transaction(STORE).objectStore(STORE).get(OWN) as IDBRequest<CryptoKeyPair | undefined>,
    );
    const keys = stored ?? (await generateKeyPair());
    if (stored === undefined) await request(database.transaction(STORE, 'readwrite').objectStore(STORE).put(keys, OWN));
    database.close();
    return { label: words.local.fresh, address: await getAddressFromPublicKey(keys.publicKey), keys };
}

function openDatabase(): Promise<IDBDatabase> {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    return request(opening);
}

function request<T>(pending: IDBRequest<T>): Promise<T> {
    return new Promise((resolve, reject) => {
        pending.onsuccess = () => resolve(pending.result);
        pending.onerror = () => reject(pending.error ?? new Error(words.local.noStorage));
    });
}
