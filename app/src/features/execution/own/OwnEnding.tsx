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
import { RefundButton } from './RefundButton';
import { SettleForm } from './SettleForm';

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
            <Notice kind="warn" title="Nobody has settled this call in time">
                <p>
                    {formatUsdc(amount)} USDC are still in the escrow. The deadline was <ExactTime at={deadline} />, so
                    no result can be settled any more. The service gives the money back as a rule about a minute after
                    the deadline. You can do it yourself: your wallet signs one transaction, and the network fee is{' '}
                    {feeText()}.
                </p>
                <RefundButton record={record} rpcUrl={rpcUrl} look="primary" />
            </Notice>
        );
    }
    return (
        <details className={styles.own}>
            <summary>
                If the service does not end it: the money can come back <Countdown to={deadline} over="now" />
            </summary>
            <div className="stack">
                <p className="small">
                    Until <ExactTime at={deadline} /> a result that the creator signed settles this call, and anybody
                    may bring it. After that, you take the {formatUsdc(amount)} USDC back here.
                </p>
                <SettleForm record={record} executionId={executionId} rpcUrl={rpcUrl} onChain={onChain} />
            </div>
        </details>
    );
}
