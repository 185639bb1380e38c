// Reads what a proof page checks: the chain from the chosen node, the content from where the reader says.

import type { Address } from '@solana/kit';
import { createSolanaRpc } from '@solana/kit';
import { queryOptions } from '@tanstack/react-query';

import { MOST_CONTENT_BYTES, cidOf, readContent } from '../../shared/content';
import { type ChainEvidence, committedHash, readChain, tried } from '../execution';
import { reportOf } from './report';

/** Of everything that is asked of the node. */
const PATIENCE_MS = 60_000;

export type ReadChain = { readonly chain: ChainEvidence; readonly genesisHash: string };

export const chainQuery = (record: string, nodeUrl: string | null) =>
    queryOptions({
        queryKey: ['proof', record, nodeUrl] as const,
        queryFn: () => inTime(read(record as Address, nodeUrl ?? '')),
        enabled: nodeUrl !== null,
        staleTime: Infinity,
        retry: false,
        structuralSharing: false,
    });

async function read(record: Address, nodeUrl: string): Promise<ReadChain> {
    const rpc = createSolanaRpc(nodeUrl);
    const [genesisHash, chain] = await Promise.all([rpc.getGenesisHash().send(), readChain(record, nodeUrl)]);
    return { genesisHash, chain };
}

function inTime<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS / 1_000} seconds`)), PATIENCE_MS);
    });
    return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Where content is taken from. `number` tells files of the same name apart. */
export type ContentSource =
    | { readonly kind: 'here' }
    | { readonly kind: 'gateway'; readonly url: string }
    | { readonly kind: 'file'; readonly file: File; readonly number: number };

const keyOf = (source: ContentSource): string | number =>
    source.kind === 'file' ? source.number : source.kind === 'gateway' ? source.url : '';

export const reportQuery = (read: ReadChain | undefined, readAt: number, source: ContentSource) =>
    queryOptions({
        queryKey: ['proof-report', read?.chain.recordAddress, readAt, source.kind, keyOf(source)] as const,
        queryFn: async () => {
            const { chain } = read as ReadChain;
            return reportOf(chain, await tried(contentOf(committedHash(chain), source)));
        },
        enabled: read !== undefined,
        staleTime: Infinity,
        retry: false,
        structuralSharing: false,
    });

async function contentOf(hash: string | null, source: ContentSource): Promise<Uint8Array> {
    if (hash === null) throw new Error('there is no result');
    if (source.kind === 'here') return readContent(`/ipfs/${cidOf(hash)}`);
    if (source.kind === 'gateway') return readContent(new URL(`/ipfs/${cidOf(hash)}`, source.url).href);
    if (source.file.size > MOST_CONTENT_BYTES) throw new Error('the file is larger than any result');
    return new Uint8Array(await source.file.arrayBuffer());
}
