// The button that pays: it sends the form of the call. Without a wallet, the button that connects one.

import { Button } from '../../shared/ui/Button';
import { WalletButton } from '../wallet';
import type { Payment } from './usePayment';
import { words } from './words';

export type PayButtonProps = { payment: Payment; /** Id of the form. */ form: string; isBusy: boolean };

export function PayButton({ payment: { terms, connection, isReady }, form, isBusy }: PayButtonProps) {
    if (connection === null) return <WalletButton />;
    return (
        <Button look="primary" type="submit" form={form} isDisabled={!isReady}>
            {isBusy ? words.checking : terms ? words.pay(terms.price) : words.reading}
        </Button>
    );
}
