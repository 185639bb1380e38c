// Shown instead of a page that needs a wallet, or a session of the wallet, until there is one.

import type { Address } from '@solana/kit';
import { Fragment, type ReactNode, useState } from 'react';

import { Skeleton } from '../../shared/ui/Skeleton';
import { useSession } from '../../shared/wallet/useSession';
import { useWallet } from '../../shared/wallet/useWallet';
import { Notice } from '../../shared/ui/Notice';
import { SignIn, SignInAgain } from './SignIn';
import { WalletButton } from './WalletButton';
import { words } from './words';

export type GateProps = {
    /** Why the wallet is needed, as a sentence. */
    why: string;
    /** Called with the account. Another account gets a new page, which keeps nothing of the one before. */
    children: (account: Address) => ReactNode;
};

/** Needs a connected account. What is shown is public, or is built and signed by the wallet. */
export function WalletGate({ why, children }: GateProps) {
    const { connection } = useWallet();
    if (connection !== null)
        return <Fragment key={connection.account.address}>{children(connection.account.address as Address)}</Fragment>;
    return (
        <Notice title={words.gate.title}>
            <p>{why}</p>
            <div>
                <WalletButton />
            </div>
        </Notice>
    );
}

/** Needs a session of the connected account: what is shown is private to the wallet. */
export const SessionGate = ({ why, children }: GateProps) => (
    <WalletGate why={why}>
        {(account) => (
            <OpenedOnce why={why} account={account}>
                {children}
            </OpenedOnce>
        )}
    </WalletGate>
);

/**
 * Keeps the opened page with everything that the user wrote when the session ends, so that it continues after a
 * sign-in.
 */
function OpenedOnce({ why, account, children }: GateProps & { account: Address }) {
    const { session } = useSession();
    const [wasOpen, setWasOpen] = useState(false);
    if (session && !wasOpen) setWasOpen(true);
    const isOpen = wasOpen || Boolean(session);
    return (
        <>
            {session === null && (isOpen ? <SignInAgain /> : <SignIn why={why} />)}
            {session === undefined && !isOpen && <Skeleton height="16rem" />}
            {isOpen && children(account)}
        </>
    );
}
