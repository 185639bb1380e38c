// After 30 days without a decision anybody ends a dispute, so that no collateral stays locked.

import { feeText } from '../../../chain/fee';
import { Button } from '../../../shared/ui/Button';
import { CaseError, checkExpiry, compensationAtExpiry, readCase } from '../chain/case';
import { expireInstructions } from '../chain/instructions';
import { words } from '../words';
import type { FormProps } from './form';

const t = words.expire;

export function Expire({ found, wallet, rpcUrl, transaction: { isBusy, send } }: FormProps) {
    const { recordAddress, config, dispute } = found;
    const compensation = compensationAtExpiry(found);
    const expire = (): void =>
        void send({
            build: async (payer) => {
                const now = await readCase(rpcUrl, recordAddress);
                checkExpiry(now);
                if (compensationAtExpiry(now) !== compensation) throw new CaseError(words.refusals.newResolver);
                return expireInstructions(now, payer, rpcUrl);
            },
        });
    return (
        <section className="stack" aria-labelledby="expire">
            <h2 id="expire">{t.title}</h2>
            <p>{t.effect(dispute.bond, compensation, feeText())}</p>
            <div>
                {/* The resolver can still decide, and that button comes first. */}
                <Button look={config.resolver === wallet ? 'plain' : 'primary'} isDisabled={isBusy} onPress={expire}>
                    {isBusy ? t.busy : t.submit}
                </Button>
            </div>
        </section>
    );
}
