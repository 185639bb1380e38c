// What the wallet button opens: the wallets of this browser, or the connected one with its accounts.

import { useState } from 'react';

import { messageOf } from '../../shared/ui/Failure';
import { useWallet } from '../../shared/wallet/useWallet';
import { Connected } from './Connected';
import { WalletChoice } from './WalletChoice';
import styles from './Wallet.module.css';

export default function WalletPanel() {
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
