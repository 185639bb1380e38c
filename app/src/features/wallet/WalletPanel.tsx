// What the wallet button opens: the wallets of this browser, or the connected one with its accounts.

import { useQuery } from '@tanstack/react-query';
import { use, useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { messageOf } from '../../shared/ui/Failure';
import { loadLocalWallet } from '../../shared/wallet/local/load';
import { useWallet } from '../../shared/wallet/useWallet';
import { Connected } from './Connected';
import { WalletChoice } from './WalletChoice';
import styles from './Wallet.module.css';

export function WalletPanel() {
    const { data: network } = useQuery(networkQuery);
    // Suspends until the built-in wallet is loaded: without it the list would say that there is no wallet.
    if (network?.network === 'local') use(loadLocalWallet());
    const { connection } = useWallet();
    const [problem, setProblem] = useState<string | null>(null);
    const report = (error: unknown): void => setProblem(error === null ? null : messageOf(error));
    return (
        <div className={styles.panel}>
            {connection === null ? (
                <WalletChoice onProblem={report} />
            ) : (
                <Connected connection={connection} onProblem={report} />
            )}
            {problem !== null && (
                <p role="alert" className={styles.problem} dir="auto">
                    {problem}
                </p>
            )}
        </div>
    );
}
