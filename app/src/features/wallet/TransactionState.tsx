// Shown below the button that sends a transaction: what the transaction is doing, how it ended, and what to do if it
// failed.

import { useQuery } from '@tanstack/react-query';

import { networkQuery } from '../../shared/api/queries';
import { transactionLink } from '../../shared/explorer';
import { solText } from '../../shared/money';
import { Notice } from '../../shared/ui/Notice';
import { whyNot } from '../../shared/wallet/standard';
import type { TransactionStatus } from '../../shared/wallet/useTransaction';
import { useWallet } from '../../shared/wallet/useWallet';
import { words } from './words';

const { transaction: said } = words;

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
                    {said.busy[status.step]} {status.fee !== undefined && said.fee(solText(status.fee))}
                </p>
            )}
            {status.kind === 'done' && (
                <Notice kind="good" title={said.done}>
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
        <Notice kind="warn" title={said.cannotSign}>
            <p>{reason}</p>
        </Notice>
    );
}

function Failed({ cause, message, signature }: Extract<TransactionStatus, { kind: 'failed' }>) {
    const isUnknown = cause === 'unreachable' && signature !== null;
    return (
        <Notice kind="bad" title={isUnknown ? said.unknown : cause === null ? said.failed : said.headlines[cause]}>
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
    if (isUnknown) return said.next.unknown;
    return cause === 'rejected' || cause === 'expired' || cause === 'unreachable' ? said.next[cause] : said.next.other;
}

/** Opens the transaction in the explorer. */
export function TransactionLink({ signature }: { signature: string }) {
    const { data: network } = useQuery(networkQuery);
    const href = transactionLink(network, signature);
    if (href === undefined) return null;
    return (
        <a href={href} target="_blank" rel="noreferrer">
            {said.link}
        </a>
    );
}
