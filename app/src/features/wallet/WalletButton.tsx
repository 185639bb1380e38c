// The button in the header that connects a wallet, and shows which account signs. A plain one: the library's button renders
// again at each part of a press, and this one is pressed first on a page that still loads.

import { useQuery } from '@tanstack/react-query';
import { Suspense, lazy, startTransition, useEffect, useRef, useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { part, partSoon } from '../../shared/part';
import { visible } from '../../shared/text/visible';
import { short } from '../../shared/text/short';
import { buttonClass } from '../../shared/ui/Button';
import { loadLocalWallet } from '../../shared/wallet/local/load';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { useWallet, walletStore } from '../../shared/wallet/useWallet';
import styles from './Wallet.module.css';
import { words } from './words';

const load = () => part(() => import('./WalletPopover'));
const WalletPopover = lazy(() => load().then(({ WalletPopover: component }) => ({ default: component })));

/**
 * The built-in wallet exists on the local network alone. A page that reconnects it loads it at once; otherwise the panel
 * does.
 */
function useLocalWallet(): void {
    const { data: network } = useQuery(networkQuery);
    const isLocal = network?.network === 'local';
    useEffect(() => {
        if (isLocal && walletStore().remembers(LOCAL_WALLET)) void loadLocalWallet();
    }, [isLocal]);
}

export function WalletButton() {
    useLocalWallet();
    const { connection } = useWallet();
    const [isOpen, setOpen] = useState(false);
    const wanted = useRef(false);
    const wasWanted = useRef(false);
    // The page answers a press or a key before it builds or removes the panel.
    const change = (isNowOpen: boolean): void => {
        wanted.current = isNowOpen;
        startTransition(() => setOpen(isNowOpen));
    };
    const click = (): void => {
        change(!wanted.current && !wasWanted.current);
        wasWanted.current = false;
    };
    return (
        <>
            <button
                type="button"
                className={buttonClass(connection === null ? 'primary' : 'plain')}
                aria-haspopup="dialog"
                aria-expanded={isOpen}
                // A press takes the focus, which closes the panel before the click.
                onPointerDown={() => (wasWanted.current = wanted.current)}
                onClick={click}
                onPointerEnter={() => partSoon(load)}
            >
                {connection === null ? words.connect : <AccountName account={connection.account} />}
            </button>
            {isOpen && (
                <Suspense fallback={null}>
                    <WalletPopover onClose={() => change(false)} />
                </Suspense>
            )}
        </>
    );
}

const AccountName = ({ account }: { account: { address: string; label?: string | undefined } }) => (
    <>
        {account.label !== undefined && <span className={styles.label}>{visible(account.label)}</span>}
        <span className={`mono ${account.label === undefined ? '' : styles.address}`}>{short(account.address)}</span>
    </>
);
