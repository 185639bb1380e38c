// What a caller can do about an open execution without the service: settle it with the creator's signed answer until
// the deadline, and take the price back after it.

import type { Address } from '@solana/kit';

import { feeText } from '../../../chain/fee';
import { formatUsdc } from '../../../shared/money';
import { Countdown } from '../../../shared/ui/Countdown';
import { Notice } from '../../../shared/ui/Notice';
import type { OnChain } from '../query';
import { ExactTime } from '../../../shared/ui/ExactTime';
import styles from '../Execution.module.css';
import { words } from '../words';
import { RefundButton } from './RefundButton';
import { SettleForm } from './SettleForm';

const w = words.ending;

export type OwnEndingProps = {
    record: Address;
    executionId: string;
    rpcUrl: string;
    onChain: OnChain;
    isOver: boolean;
};

export function OwnEnding({ record, executionId, rpcUrl, onChain, isOver }: OwnEndingProps) {
    const { deadline, amount } = onChain;
    if (!onChain.isOpen || deadline === null || amount === null) return null;
    if (isOver) {
        return (
            <Notice kind="warn" title={w.late}>
                <p>
                    {w.lateText(formatUsdc(amount))}
                    <ExactTime at={deadline} />
                    {w.lateHint(feeText())}
                </p>
                <RefundButton record={record} rpcUrl={rpcUrl} look="primary" />
            </Notice>
        );
    }
    return (
        <details className={styles.own}>
            <summary>
                {w.open}
                <Countdown to={deadline} over={words.now} />
            </summary>
            <div className="stack">
                <p className="small">
                    {w.until}
                    <ExactTime at={deadline} />
                    {w.untilText(formatUsdc(amount))}
                </p>
                <SettleForm record={record} executionId={executionId} rpcUrl={rpcUrl} onChain={onChain} />
            </div>
        </details>
    );
}
