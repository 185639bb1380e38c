// The button in the header that connects a wallet, and shows which account signs.

import { useIsFetching, useQuery } from '@tanstack/react-query';
import { Suspense, lazy, useEffect, useState } from 'react';
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog';
import { Popover } from 'react-aria-components/Popover';

import { networkQuery } from '../../shared/api/queries';
import { part } from '../../shared/part';
import { visible } from '../../shared/text/visible';
import { short } from '../../shared/text/short';
import { Button } from '../../shared/ui/Button';
import { Skeleton } from '../../shared/ui/Skeleton';
import { loadLocalWallet } from '../../shared/wallet/local/load';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { useWallet, walletStore } from '../../shared/wallet/useWallet';
import styles from './Wallet.module.css';

const WalletPanel = lazy(() => part(() => import('./WalletPanel')));

/** How long the page has been quiet, in milliseconds, when it loads the built-in wallet. */
const QUIET_MS = 500;

/**
 * The built-in wallet exists on the local network alone. A page that reconnects it loads it at once. Other pages show
 * their first content before; a visitor who opens the panel earlier makes the panel load it.
 */
function useLocalWallet(): void {
    const { data: network } = useQuery(networkQuery);
    const isLocal = network?.network === 'local';
    const isQuiet = useIsFetching() === 0;
    useEffect(() => {
        if (!isLocal) return;
        if (walletStore().remembers(LOCAL_WALLET)) void loadLocalWallet();
        if (!isQuiet) return;
        const timer = setTimeout(() => void loadLocalWallet(), QUIET_MS);
        return () => clearTimeout(timer);
    }, [isLocal, isQuiet]);
}

export function WalletButton() {
    useLocalWallet();
    const { connection } = useWallet();
    // The popover belongs to the header's landmark.
    const [home, setHome] = useState<HTMLDivElement | null>(null);
    return (
        <DialogTrigger>
            <div ref={setHome} />
            <Button look={connection === null ? 'primary' : 'plain'}>
                {connection === null ? 'Connect' : <AccountName account={connection.account} />}
            </Button>
            <Popover
                className={styles.popover ?? ''}
                placement="bottom end"
                // eslint-disable-next-line @typescript-eslint/no-deprecated -- A provider would be one more element.
                {...(home && { UNSTABLE_portalContainer: home })}
            >
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
