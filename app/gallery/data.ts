// Fixed data of the gallery.

import type { Schemas } from '../src/shared/api/client';

export const NOW = new Date('2026-11-23T12:00:00Z');
const MS_PER_DAY = 86_400_000;

export type Day = { day: string; completed: bigint; failed: bigint };

/** A month with more and less, and days without anything. */
export const DAYS: readonly Day[] = [29, 28, 26, 25, 21, 20, 19, 16, 14, 13, 12, 11, 8, 6, 5, 3, 2, 1, 0].map(
    (age) => ({
        day: new Date(NOW.getTime() - age * MS_PER_DAY).toISOString().slice(0, 10),
        completed: BigInt(12 + ((age * 37) % 90)),
        failed: BigInt(age % 4),
    }),
);

export const WALLET = '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8';

const agent = (change: Partial<Schemas['AgentSummary']>): Schemas['AgentSummary'] => ({
    agent_id: 'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf',
    avg_execution_time_ms: 840,
    binding: true,
    creator: { pubkey: WALLET, verified: true },
    name: 'text-stats',
    price_per_call_usdc: 10_000n,
    status: 'active',
    success_rate: 0.982,
    tagline: 'Counts words, sentences and the most frequent words of a text.',
    tags: ['text', 'statistics'],
    total_executions: 12_040,
    trust_usdc: 118_250_000n,
    ...change,
});

export const AGENTS: readonly Schemas['AgentSummary'][] = [
    agent({}),
    agent({
        agent_id: '6mUD9ZzP2oRdcSc3JNfFkMxVZF8x9ZLbxYJ8iZQkqzPt',
        creator: { pubkey: WALLET, verified: false },
        name: 'A long name of an agent that reads contracts and says what each party has to do and until when',
        price_per_call_usdc: 12_500_000n,
        status: 'paused',
        success_rate: 0,
        tagline: 'Reads a contract.',
        tags: ['law'],
        total_executions: 0,
        trust_usdc: 0n,
    }),
];
