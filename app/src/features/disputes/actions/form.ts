// The props that all forms of a dispute have.

import type { Address } from '@solana/kit';

import type { UseTransaction } from '../../../shared/wallet/useTransaction';
import type { Case } from '../chain/case';
import type { Dispute } from '../query';

export type FormProps = {
    dispute: Dispute;
    found: Case;
    wallet: Address;
    rpcUrl: string;
    transaction: UseTransaction;
};
