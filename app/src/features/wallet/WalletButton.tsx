// The button in the header that connects a wallet, and shows which account signs.

import { useQuery } from '@tanstack/react-query';
import { Suspense, lazy, useEffect, useState } from 'react';
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog';
import { Popover } from 'react-aria-components/Popover';

import { networkQuery } from '../../shared/api/queries';
import { visible } from '../../shared/text/visible';
import { short } from '../../shared/text/short';
import { Button } from '../../shared/ui/Button';
import { Skeleton } from '../../shared/ui/Skeleton';
import { useWallet } from '../../shared/wallet/useWallet';
import styles from './Wallet.module.css';

const WalletPanel = lazy(() => import('./WalletPanel'));

let registered = false;

/** The built-in wallet exists on the local network alone. */
function useLocalWallet(network: string | undefined): void {
    useEffect(() => {
        if (network !== 'local' || registered) return;
        registered = true;
        import('../../shared/wallet/local/register')
            .then(({ registerLocalWallet }) => registerLocalWallet())
            .catch((error: unknown) => console.info('There is no local test wallet:', error));
    }, [network]);
}

export function WalletButton() {
    const { data: network } = useQuery(networkQuery);
    useLocalWallet(network?.network);
    const { connection } = useWallet();
    // The popover belongs to the header's landmark.
    const [home, setHome] = useState<HTMLDivElement | null>(null);
    return (
        <DialogTrigger>
            <div ref={setHome} />
            <Button look={connection === null ? 'primary' : 'plain'}>
                {connection === null ? 'Connect' : <AccountName account={connection.account} />}
            </Button>
            <Popover className={styles.popover ?? ''} placement="bottom end" {...(home && { UNSTABLE_portalContainer: home })}>
                <Dialog className={styles.dialog ?? ''} aria-label="Wallet">
                    <Suspense fallback={<Skeleton height="12rem" />}>
                        <WalletPanel />
                    </Suspense>
                </Dialog>
            </Popover>
        </DialogTrigger>
    );
}

const AccountName = ({ account }: { account: { address: string; label?: string | undefined } }) => (
    <>
        {account.label !== undefined && <span className={styles.label}>{visible(account.label)}</span>}
        <span className={`mono ${account.label === undefined ? '' : styles.address}`}>{short(account.address)}</span>
    </>
);
