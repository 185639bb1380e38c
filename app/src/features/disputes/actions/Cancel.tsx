// The caller gives an open dispute up, and has the bond back.

import { feeText } from '../../../chain/fee';
import { formatUsdc } from '../../../shared/money';
import { Button } from '../../../shared/ui/Button';
import { checkCancel, readCase } from '../chain/case';
import { cancelInstructions } from '../chain/instructions';
import type { FormProps } from './form';

export function Cancel({
    found: { recordAddress, dispute },
    wallet,
    rpcUrl,
    transaction: { isBusy, send },
}: FormProps) {
    const cancel = (): void =>
        void send({
            build: async () => {
                const now = await readCase(rpcUrl, recordAddress);
                checkCancel(now, wallet);
                return cancelInstructions(now, rpcUrl);
            },
        });
    return (
        <section className="stack" aria-labelledby="cancel">
            <h2 id="cancel">Give the dispute up</h2>
            <p>
                You get the bond of {formatUsdc(dispute.bond)} USDC back, and nothing else moves. The creator keeps the
                price. This is final: the execution cannot be disputed again. It costs the network fee of {feeText()}.
            </p>
            <div>
                <Button look="danger" isDisabled={isBusy} onPress={cancel}>
                    {isBusy ? 'Giving it up …' : 'Give it up'}
                </Button>
            </div>
        </section>
    );
}
