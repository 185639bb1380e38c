// What the card of a key gives to the panels that change the key.

import type { Address } from '@solana/kit';

import type { Schemas } from '../../shared/api/client';
import type { Costs, Funds } from './funds';
import type { Key } from './query';

export type ActionProps = {
    apiKey: Key;
    account: Address;
    network: Schemas['NetworkResponse'];
    chain: [Funds, Costs];
    isOpenOnChain: boolean;
    /** Says what happened, also when the card is gone. */
    onSaid: (text: string) => void;
};

export type PanelProps = ActionProps & { onClose: () => void };
