// After 30 days without a decision anybody ends a dispute, so that no collateral stays locked.

import { feeText } from '../../../chain/fee';
import { Button } from '../../../shared/ui/Button';
import { checkExpiry, readCase } from '../chain/case';
import { expireInstruction } from '../chain/instructions';
import { untilShown } from '../query';
import type { FormProps } from './form';

export function Expire({ found: { recordAddress, config }, wallet, rpcUrl, transaction: { isBusy, send } }: FormProps) {
    const expire = (): void =>
        void send({
            build: async () => {
                const now = await readCase(rpcUrl, recordAddress);
                checkExpiry(now);
                return [await expireInstruction(now)];
            },
            after: async () => {
                await untilShown(recordAddress, wallet, ({ status }) => status !== 'open');
            },
        });
    return (
        <section className="stack" aria-labelledby="expire">
            <h2 id="expire">End it without a decision</h2>
            <p>
                The resolver did not decide within 30 days. Ending the dispute frees the collateral. The creator keeps
                the price, and the execution cannot be disputed again. It costs the network fee of {feeText()}. The
                service also does it by itself after a while.
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
