// Ends a key: at the service, which refuses it at once, and on the chain, where the end holds without any service.

import { type Address, createSolanaRpc } from '@solana/kit';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { feeText } from '../../chain/fee';
import { readGrant } from '../../chain/grants';
import { short } from '../../shared/text/short';
import { visible } from '../../shared/text/visible';
import { Button } from '../../shared/ui/Button';
import { messageOf } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { TransactionState } from '../wallet';
import { approvalWithout, grantOf, readFunds } from './funds';
import { revocationInstructions } from './grant';
import type { PanelProps } from './panel';
import styles from './Keys.module.css';
import { revokeAtService } from './query';
import { words } from './words';

const t = words.revocation;

export function Revoke({ apiKey, account, network, chain: [funds], onSaid, onClose }: PanelProps) {
    const sessionKey = apiKey.session_public_key as Address;
    const queries = useQueryClient();
    const { status, isBusy, send } = useTransaction();
    const [isAtService, setAtService] = useState(false);
    const [refusal, setRefusal] = useState<string | null>(null);
    const isWorking = isBusy || isAtService;
    const name = apiKey.name === null ? short(sessionKey) : visible(apiKey.name);

    const revoke = async (): Promise<void> => {
        if (isWorking) return;
        setRefusal(null);
        setAtService(true);
        const isRefused = await revokeAtService(account, sessionKey).then(
            () => false,
            (error: unknown) => {
                setRefusal(messageOf(error));
                return true;
            },
        );
        const rpc = createSolanaRpc(network.rpc_url ?? '');
        const grant = await readGrant(rpc, account, sessionKey).catch(() => undefined);
        setAtService(false);
        const isOver = grant === null || grant?.revoked === 1;
        const said = (): void => onSaid(isRefused ? t.onlyOnChain(name) : t.done(name));
        if (isOver) {
            if (!isRefused) said();
            await queries.invalidateQueries({ queryKey: ['keys', account] });
            return;
        }
        const mint = network.usdc_mint as Address;
        await send({
            build: async () => revocationInstructions(await readFunds(rpc, account, mint), account, mint, sessionKey),
            after: said,
        });
    };
    const approved = approvalWithout(funds, sessionKey);
    const needsSignature = grantOf(funds, sessionKey)?.revoked === 0;
    return (
        <div className={styles.panel}>
            <ul className={styles.effects}>
                <li>{t.forGood}</li>
                <li>{t.openCalls}</li>
                {needsSignature && approved !== funds.approved && <li>{t.approvalFalls(funds.approved, approved)}</li>}
                {needsSignature && <li>{t.signOnce(feeText())}</li>}
            </ul>
            <div className="row">
                <Button look="danger" onPress={() => void revoke()}>
                    {isWorking ? words.busy : t.confirm}
                </Button>
                {!isWorking && (
                    <Button look="quiet" onPress={onClose}>
                        {words.cancel}
                    </Button>
                )}
            </div>
            {refusal !== null && (
                <div role="alert">
                    <Notice kind="warn" title={t.notTaken}>
                        <p dir="auto">{t.chainHolds(refusal)}</p>
                    </Notice>
                </div>
            )}
            <TransactionState status={status} done={t.signed} />
        </div>
    );
}
