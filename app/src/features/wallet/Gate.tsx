// What stands in the place of a page that needs a wallet, or a session of it, until there is one.

import type { Address } from '@solana/kit';
import type { ReactNode } from 'react';

import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { useSession } from '../../shared/wallet/useSession';
import { useWallet } from '../../shared/wallet/useWallet';
import { WalletButton } from './WalletButton';

export type GateProps = {
    /** Why the wallet is needed, as a sentence. */
    why: string;
    children: (account: Address) => ReactNode;
};

/** Needs a connected account. What is shown is public, or is built and signed by the wallet. */
export function WalletGate({ why, children }: GateProps) {
    const { connection } = useWallet();
    if (connection !== null) return children(connection.account.address as Address);
    return (
        <Notice title="Connect a wallet">
            <p>{why}</p>
            <div>
                <WalletButton />
            </div>
        </Notice>
    );
}

/** Needs a session of the connected account: what is shown is private to the wallet. */
export function SessionGate({ why, children }: GateProps) {
    const { session, signIn } = useSession();
    return (
        <WalletGate why={why}>
            {(account) =>
                session ? (
                    children(account)
                ) : session === undefined ? (
                    <Skeleton height="16rem" />
                ) : (
                    <Notice title="Sign in">
                        <p>{why} Your wallet signs a text, which costs nothing.</p>
                        <div>
                            <Button look="primary" onPress={() => !signIn.isPending && signIn.mutate()}>
                                {signIn.isPending ? 'Your wallet waits for you' : 'Sign in'}
                            </Button>
                        </div>
                        {signIn.error && <Failure error={signIn.error} />}
                    </Notice>
                )
            }
        </WalletGate>
    );
}
