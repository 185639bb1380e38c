// Which node a proof is read from: never one that only a link names.

import { describe, expect, it } from 'vitest';

import { PUBLIC_NODES, firstNode, hostUrl, linkNode, networkOf } from '../../src/features/proof/node';
import { proofPath } from '../../src/shared/proofLink';

const LOCAL = { network: 'local', rpcUrl: 'http://127.0.0.1:8899' };

describe('the first node of a proof', () => {
    it('is the one of this site, or the public one of the cluster that the link is about', () => {
        expect(firstNode({}, LOCAL)).toEqual({ url: LOCAL.rpcUrl, source: 'site' });
        expect(firstNode({ network: 'devnet' }, { network: 'devnet', rpcUrl: 'https://own.example' })).toEqual({
            url: 'https://own.example',
            source: 'site',
        });
        expect(firstNode({ network: 'devnet' }, LOCAL)).toEqual({ url: PUBLIC_NODES.devnet, source: 'public' });
        expect(firstNode({ network: 'mainnet' }, null)).toEqual({ url: PUBLIC_NODES.mainnet, source: 'public' });
    });

    it('is never the one that a link names', () => {
        const node = 'https://liar.example/';
        expect(firstNode({ node }, null)).toBeNull();
        expect(firstNode({ node }, LOCAL)).toEqual({ url: LOCAL.rpcUrl, source: 'site' });
        expect(firstNode({ node, network: 'mainnet' }, null)?.url).toBe(PUBLIC_NODES.mainnet);
        expect(linkNode({ node }, null)).toBe(node);
        // The node that is asked anyway needs no warning.
        expect(linkNode({ node: LOCAL.rpcUrl }, { url: LOCAL.rpcUrl, source: 'site' })).toBeNull();
    });

    it('is an address that shows who answers, or this machine', () => {
        for (const text of ['https://rpc.example/key?x=1', 'http://127.0.0.1:8899', 'http://localhost:1']) {
            expect(hostUrl(text), text).toBe(new URL(text).href);
        }
        const refused = [
            'http://rpc.example',
            'javascript:alert(1)',
            'data:text/plain,x',
            'ws://127.0.0.1',
            '//x.example',
            'https://name:word@rpc.example',
            'http://127.0.0.1.example',
            '',
            `https://${'x'.repeat(600)}.example`,
        ];
        for (const text of refused) expect(hostUrl(text), text).toBeNull();
    });

    it('has its network by the genesis hash', () => {
        expect(networkOf('EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG')).toBe('devnet');
        expect(networkOf('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d')).toBe('mainnet');
        expect(networkOf('constructor')).toBeNull();
    });
});

describe('the link to a proof', () => {
    it('names a known cluster, and a node for other networks alone', () => {
        expect(proofPath('REC', { network: 'devnet', rpc_url: 'https://own.example' })).toBe(
            '/proof/REC?network=devnet',
        );
        expect(proofPath('REC', { network: 'local', rpc_url: 'http://127.0.0.1:8899' })).toBe(
            '/proof/REC?node=http%3A%2F%2F127.0.0.1%3A8899',
        );
        expect(proofPath('REC', { network: 'local', rpc_url: null })).toBe('/proof/REC');
        expect(proofPath('REC')).toBe('/proof/REC');
    });
});
