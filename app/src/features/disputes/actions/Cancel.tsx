// The caller cancels an open dispute, and has the bond back.

import { feeText } from '../../../chain/fee';
import { Button } from '../../../shared/ui/Button';
import { checkCancel, readCase } from '../chain/case';
import { cancelInstructions } from '../chain/instructions';
import { words } from '../words';
import type { FormProps } from './form';

const t = words.cancel;

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
            <h2 id="cancel">{t.title}</h2>
            <p>{t.effect(dispute.bond, feeText())}</p>
            <div>
                <Button look="danger" isDisabled={isBusy} onPress={cancel}>
                    {isBusy ? t.busy : t.submit}
                </Button>
            </div>
        </section>
    );
}
