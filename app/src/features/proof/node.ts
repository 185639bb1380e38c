// Which Solana node a proof is read from, and who named it. A node can lie about the chain, so a page never asks one that
// only a link names.

import type { KnownNetwork } from '../../shared/proofLink';

/**
 * `site`: this address named it, in its description of its network. `public`: the cluster's own public node, built into
 * this page. `reader`: typed. `link`: named by the link, and allowed by the reader.
 */
export type NodeSource = 'site' | 'public' | 'reader' | 'link';
export type ChosenNode = { readonly url: string; readonly source: NodeSource };

export const PUBLIC_NODES: Record<KnownNetwork, string> = {
    mainnet: 'https://api.mainnet-beta.solana.com',
    devnet: 'https://api.devnet.solana.com',
};

const GENESIS = new Map<string, KnownNetwork>([
    ['5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', 'mainnet'],
    ['EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG', 'devnet'],
]);

/** The network of a genesis hash; `null`: another one, such as a local network. */
export const networkOf = (genesisHash: string): KnownNetwork | null => GENESIS.get(genesisHash) ?? null;

const MOST_CHARACTERS = 500;

/** `https:` anywhere, `http:` on this machine alone; `null` for every other text. */
export function hostUrl(text: string): string | null {
    if (text.length > MOST_CHARACTERS || !URL.canParse(text)) return null;
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') return null;
    const isHere = ['127.0.0.1', 'localhost'].includes(url.hostname);
    return url.protocol === 'https:' || (url.protocol === 'http:' && isHere) ? url.href : null;
}

/** What the link says, which is only a hint. */
export type LinkHints = { readonly network?: KnownNetwork; readonly node?: string };
/** What this address has said about its network. */
export type SiteNode = { readonly network: string; readonly rpcUrl: string };

/** The node to ask first without a question; `null`: the reader has to choose one. */
export function firstNode(hints: LinkHints, site: SiteNode | null): ChosenNode | null {
    const { network = site?.network } = hints;
    if (site !== null && network === site.network) return { url: site.rpcUrl, source: 'site' };
    return hints.network === undefined ? null : { url: PUBLIC_NODES[hints.network], source: 'public' };
}

/** The node that the link alone names, to be shown to the reader; `null`: none that is new. */
export function linkNode(hints: LinkHints, node: ChosenNode | null): string | null {
    const url = hints.node === undefined ? null : hostUrl(hints.node);
    return url === null || (node !== null && hostUrl(node.url) === url) ? null : url;
}
