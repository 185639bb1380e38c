// The network that this address has described last, kept in this browser: a proof page reads the chain also while the API
// does not answer.

const PLACE = 'crtx.network';

export type LastNetwork = { readonly network: string; readonly rpcUrl: string };

export function keepNetwork({ network, rpc_url: rpcUrl }: { network: string; rpc_url: string | null }): void {
    try {
        if (rpcUrl === null) localStorage.removeItem(PLACE);
        else localStorage.setItem(PLACE, JSON.stringify({ network, rpcUrl }));
    } catch {
        // A browser that keeps nothing asks again.
    }
}

/** `null`: nothing readable is kept. */
export function lastNetwork(): LastNetwork | null {
    try {
        const kept = JSON.parse(localStorage.getItem(PLACE) ?? 'null') as Partial<LastNetwork> | null;
        return typeof kept?.network === 'string' && typeof kept.rpcUrl === 'string'
            ? { network: kept.network, rpcUrl: kept.rpcUrl }
            : null;
    } catch {
        return null;
    }
}
