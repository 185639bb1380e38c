// After 30 days without a decision anybody ends a dispute, so that no collateral stays locked.

import { feeText } from '../../../chain/fee';
import { formatUsdc } from '../../../shared/money';
import { Button } from '../../../shared/ui/Button';
import { CaseError, checkExpiry, compensationAtExpiry, readCase } from '../chain/case';
import { expireInstructions } from '../chain/instructions';
import type { FormProps } from './form';

export function Expire({ found, wallet, rpcUrl, transaction: { isBusy, send } }: FormProps) {
    const { recordAddress, config, dispute } = found;
    const compensation = compensationAtExpiry(found);
    const expire = (): void =>
        void send({
            build: async (payer) => {
                const now = await readCase(rpcUrl, recordAddress);
                checkExpiry(now);
                if (compensationAtExpiry(now) !== compensation)
                    throw new CaseError('The resolver has just changed. Look at the page again.');
                return expireInstructions(now, payer, rpcUrl);
            },
        });
    return (
        <section className="stack" aria-labelledby="expire">
            <h2 id="expire">End it without a decision</h2>
            <p>
                Nobody decided within 30 days. Ending the dispute frees the collateral, and the caller gets the bond of{' '}
                {formatUsdc(dispute.bond)} USDC back.{' '}
                {compensation > 0n &&
                    `There is no resolver, so the caller also gets ${formatUsdc(compensation)} USDC out of the collateral. `}
                The creator keeps the price, and the execution cannot be disputed again. It costs the network fee of{' '}
                {feeText()}. The service also does it by itself after a while.
            </p>
            <div>
                {/* The resolver can still decide, and that button comes first. */}
                <Button look={config.resolver === wallet ? 'plain' : 'primary'} isDisabled={isBusy} onPress={expire}>
                    {isBusy ? 'Ending …' : 'End the dispute'}
                </Button>
            </div>
        </section>
    );
}
