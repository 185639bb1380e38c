// The bar at the top of every page: one row.

import { Link } from '@tanstack/react-router';

import { NetworkBadge } from '../features/network';
import { WalletButton } from '../features/wallet';
import { FindButton } from './find/FindButton';
import styles from './Header.module.css';
import { Navigation } from './Navigation';
import { ThemeSwitch } from './ThemeSwitch';
import { words } from './words';

export const Header = () => (
    <header className={styles.header}>
        <div className={styles.inner}>
            <Link to="/" className={styles.brand} aria-label={words.home}>
                <img src="/icon.svg" alt="" width="28" height="28" />
                <span>{words.product}</span>
            </Link>
            <Navigation />
            <div className={styles.tools}>
                <FindButton />
                <NetworkBadge />
                <div className={styles.theme}>
                    <ThemeSwitch />
                </div>
                <WalletButton />
            </div>
        </div>
    </header>
);
