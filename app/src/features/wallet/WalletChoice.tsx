// The wallets that can be connected.

import type { Wallet } from '@wallet-standard/base';

import { visible } from '../../shared/text/visible';
import { Button } from '../../shared/ui/Button';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import type { UsableWallet } from '../../shared/wallet/standard';
import { useWallet, walletStore } from '../../shared/wallet/useWallet';
import styles from './Wallet.module.css';
import { words } from './words';

export function WalletChoice({ onProblem }: { onProblem: (error: unknown) => void }) {
    const { wallets, unusable, connecting } = useWallet();
    const connect = (wallet: UsableWallet): void => {
        onProblem(null);
        walletStore().connect(wallet).catch(onProblem);
    };
    if (wallets.length === 0) {
        return (
            <>
                <h2>{words.choice.none}</h2>
                <p>{words.choice.install}</p>
                <Unusable wallets={unusable} />
            </>
        );
    }
    return (
        <>
            <h2>{words.choice.title}</h2>
            <ul className={styles.choices}>
                {wallets.map((wallet) => (
                    <li key={wallet.name}>
                        <Button onPress={() => connect(wallet)} isDisabled={connecting !== null}>
                            <img src={wallet.icon} alt="" width="24" height="24" />
                            <span className={styles.walletName}>{visible(wallet.name)}</span>
                            {connecting === wallet && <span className="muted">{words.choice.waits}</span>}
                        </Button>
                        {wallet.name === LOCAL_WALLET && <p className="small muted">{words.choice.local}</p>}
                    </li>
                ))}
            </ul>
            <Unusable wallets={unusable} />
        </>
    );
}

const Unusable = ({ wallets }: { wallets: readonly Wallet[] }) =>
    wallets.length > 0 && (
        <p className="small muted">{words.choice.unusable(wallets.map(({ name }) => visible(name)).join(', '))}</p>
    );
