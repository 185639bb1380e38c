// The button with which a caller takes back the price of an expired execution.

import { type Address, createSolanaRpc } from '@solana/kit';

import { Button } from '../../../shared/ui/Button';
import { useTransaction } from '../../../shared/wallet/useTransaction';
import { useWallet } from '../../../shared/wallet/useWallet';
import { TransactionState } from '../../wallet';
import { words } from '../words';
import { refundInstructions } from './ending';

export type RefundButtonProps = { record: Address; rpcUrl: string; look?: 'primary' | 'plain' };

export function RefundButton({ record, rpcUrl, look = 'plain' }: RefundButtonProps) {
    const { connection } = useWallet();
    const { status, isBusy, send } = useTransaction();
    const refund = (): Promise<void> =>
        send({
            build: (account) => refundInstructions(createSolanaRpc(rpcUrl), record, account),
        });
    return (
        <>
            {status.kind !== 'done' && (
                <div>
                    <Button look={look} isDisabled={connection === null} onPress={() => void refund()}>
                        {isBusy ? words.busy : words.ending.refund}
                    </Button>
                </div>
            )}
            <TransactionState status={status} done={words.ending.refunded} />
        </>
    );
}
