// What the wallet button opens, below it.

import { Suspense, useRef } from 'react';

import { Layer } from '../../shared/ui/Layer';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Wallet.module.css';
import { WalletPanel } from './WalletPanel';
import { words } from './words';

export function WalletPopover({ onClose }: { onClose: () => void }) {
    const layer = useRef<HTMLDivElement>(null);
    return (
        <Layer layer={layer} className={styles.popover} onClose={onClose} focusOn="[role=dialog]">
            <div role="dialog" tabIndex={-1} aria-label={words.wallet} className={styles.dialog}>
                <Suspense fallback={<Skeleton height="12rem" />}>
                    <WalletPanel />
                </Suspense>
            </div>
        </Layer>
    );
}
