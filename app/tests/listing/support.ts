// A good listing in fields, and the rules of a network as the demo has them.

import { EMPTY, type Fields } from '../../src/features/listing/form/fields';
import type { RuleBook } from '../../src/features/listing/form/rules';

const USDC = 1_000_000n;

export const TIERS = [
    { maxPrice: USDC / 10n, collateral: 10n * USDC },
    { maxPrice: USDC, collateral: 50n * USDC },
    { maxPrice: 10n * USDC, collateral: 200n * USDC },
    { maxPrice: 2n ** 64n - 1n, collateral: 1_000n * USDC },
];

const LIMITS = {
    max_name_chars: 80,
    max_tagline_chars: 200,
    max_description_chars: 20_000,
    max_endpoint_chars: 2_048,
    max_tags: 5,
    max_tag_chars: 32,
    max_price_usdc: 1_000_000n * USDC,
    max_schema_bytes: 128 * 1024,
    max_schema_depth: 64,
    min_timeout_seconds: 1,
    max_timeout_seconds: 900,
};

export const bookOf = (network: 'local' | 'mainnet'): RuleBook => ({
    network: { network, limits: LIMITS as unknown as RuleBook['network']['limits'] },
    minPrice: 1_000n,
    tiers: TIERS,
});

export const GOOD: Fields = {
    ...EMPTY,
    name: 'Counter',
    tagline: 'Counts words.',
    description: 'Send a text.\n',
    tags: ['data', 'own-tag'],
    price: '0.05',
    resultKey: 'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf',
    endpoint: 'https://agent.example.com/execute',
};
