// The address of a public proof page. It names the record, and as a hint where its chain is found: a cluster that pages
// know, or the node of a local network, which the reader has to allow.

export const KNOWN_NETWORKS = ['mainnet', 'devnet'] as const;
export type KnownNetwork = (typeof KNOWN_NETWORKS)[number];

export const isKnownNetwork = (name: string | undefined): name is KnownNetwork =>
    KNOWN_NETWORKS.some((known) => known === name);

/** Opened as a document, never within the page: proof pages may ask other hosts than the other pages. */
export function proofPath(record: string, network?: { network: string; rpc_url: string | null }): string {
    const path = `/proof/${record}`;
    if (network === undefined) return path;
    if (isKnownNetwork(network.network)) return `${path}?network=${network.network}`;
    return network.rpc_url === null ? path : `${path}?${new URLSearchParams({ node: network.rpc_url }).toString()}`;
}
