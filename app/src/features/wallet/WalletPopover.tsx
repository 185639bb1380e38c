// What the wallet button opens, below it.

import { type RefObject, Suspense } from 'react';
import { Dialog } from 'react-aria-components/Dialog';
import { Popover } from 'react-aria-components/Popover';

import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Wallet.module.css';
import { WalletPanel } from './WalletPanel';
import { words } from './words';

export type WalletPopoverProps = {
    isOpen: boolean;
    onOpenChange: (isOpen: boolean) => void;
    /** The button. */
    trigger: RefObject<HTMLButtonElement | null>;
    /** The popover belongs to the landmark of this element. */
    home: HTMLElement | null;
};

export const WalletPopover = ({ isOpen, onOpenChange, trigger, home }: WalletPopoverProps) => (
    <Popover
        className={styles.popover ?? ''}
        placement="bottom end"
        triggerRef={trigger}
        isOpen={isOpen}
        onOpenChange={onOpenChange}
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- A provider would be one more element.
        {...(home && { UNSTABLE_portalContainer: home })}
    >
        <Dialog className={styles.dialog ?? ''} aria-label={words.wallet}>
            <Suspense fallback={<Skeleton height="12rem" />}>
                <WalletPanel />
            </Suspense>
        </Dialog>
    </Popover>
);
