// Shown below the button that sends a transaction: what the transaction is doing, how it ended, and what to do if it
// failed.

import { useQuery } from '@tanstack/react-query';

import { networkQuery } from '../../shared/api/queries';
import { solText } from '../../shared/money';
import { Notice } from '../../shared/ui/Notice';
import { whyNot } from '../../shared/wallet/standard';
import type { TransactionStatus } from '../../shared/wallet/useTransaction';
import { useWallet } from '../../shared/wallet/useWallet';

const BUSY = {
    preparing: 'The chain is being read …',
    simulating: 'The transaction is being tried out …',
    signing: 'Your wallet asks you to sign …',
    confirming: 'Sent. Waiting until the network confirms it …',
} as const;

const HEADLINES = {
    rejected: 'You did not sign',
    refused: 'The program refuses this',
    expired: 'The signature has expired',
    unreachable: 'No connection to Solana',
    altered: 'The wallet changed the transaction',
} as const;

export function TransactionState({
    status,
    done,
}: {
    status: TransactionStatus;
    /** Said once it is confirmed. */ done: string;
}) {
    return (
        // Always there, so that a screen reader announces what changes in it.
        <div aria-live="polite">
            {status.kind === 'idle' && <CannotSign />}
            {status.kind === 'busy' && (
                <p className="muted">
                    {BUSY[status.step]} {status.fee !== undefined && `The network fee is ${solText(status.fee)} SOL.`}
                </p>
            )}
            {status.kind === 'done' && (
                <Notice kind="good" title="Done">
                    <p>
                        {done} <TransactionLink signature={status.signature} />
                    </p>
                </Notice>
            )}
            {status.kind === 'failed' && <Failed {...status} />}
        </div>
    );
}

/** Said before the button is pressed. */
function CannotSign() {
    const { connection } = useWallet();
    const reason = connection && whyNot(connection.wallet, connection.account, 'transactions');
    if (reason === null) return null;
    return (
        <Notice kind="warn" title="Your wallet cannot sign this">
            <p>{reason}</p>
        </Notice>
    );
}

function Failed({ cause, message, signature }: Extract<TransactionStatus, { kind: 'failed' }>) {
    const isUnknown = cause === 'unreachable' && signature !== null;
    return (
        <Notice
            kind="bad"
            title={
                isUnknown
                    ? 'It is not known yet whether it happened'
                    : cause === null
                      ? 'This did not work'
                      : HEADLINES[cause]
            }
        >
            <p dir="auto">{message}</p>
            <p>{wayOn(cause, isUnknown)}</p>
            {signature !== null && (
                <p>
                    <TransactionLink signature={signature} />
                </p>
            )}
        </Notice>
    );
}

function wayOn(cause: Extract<TransactionStatus, { kind: 'failed' }>['cause'], isUnknown: boolean): string {
    if (isUnknown) return 'This page shows the chain again as soon as it answers. Look there before you sign again.';
    if (cause === 'rejected') return 'Nothing was sent. Press the button again when you want to sign.';
    if (cause === 'expired') return 'Nothing has changed. Press the button again and sign within a minute.';
    if (cause === 'unreachable') return 'Nothing was sent. Check the connection, then press the button again.';
    return 'Nothing has changed.';
}

/** Opens the transaction in the explorer. */
export function TransactionLink({ signature }: { signature: string }) {
    const { data: network } = useQuery(networkQuery);
    const template = network?.explorer.transaction;
    if (!template) return null;
    return (
        <a href={template.replace('{signature}', encodeURIComponent(signature))} target="_blank" rel="noreferrer">
            Transaction in the explorer
        </a>
    );
}
