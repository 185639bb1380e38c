// The names of the API keys of a wallet, by the public key that stands in an execution.

import { queryOptions } from '@tanstack/react-query';

import { api, asWallet, body } from '../../shared/api/client';

const PAGE = 100;
/** A wallet with more keys sees the public keys of the oldest ones. */
const MOST = 1_000;

export type KeyNames = ReadonlyMap<string, string>;

export const keyNamesQuery = (wallet: string) =>
    queryOptions({
        queryKey: ['key-names', wallet] as const,
        queryFn: async ({ signal }): Promise<KeyNames> => {
            const names = new Map<string, string>();
            for (let offset = 0; offset < MOST; offset += PAGE) {
                const query = { limit: PAGE, offset };
                const page = await body(api.GET('/v1/keys', { ...asWallet(wallet), params: { query }, signal }));
                for (const { session_public_key: key, name } of page.keys) if (name !== null) names.set(key, name);
                if (page.keys.length === 0 || offset + page.keys.length >= page.total) break;
            }
            return names;
        },
        staleTime: 10_000,
    });
