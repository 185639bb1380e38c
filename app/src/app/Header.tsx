// The bar at the top of every page.

import { Link } from '@tanstack/react-router';

import { NetworkBadge } from '../features/network';
import { SearchBox } from '../features/browse';
import { WalletButton } from '../features/wallet';
import styles from './Header.module.css';
import { Navigation } from './Navigation';
import { ThemeSwitch } from './ThemeSwitch';

export const Header = () => (
    <header className={styles.header}>
        <div className={styles.inner}>
            <Link to="/" className={styles.brand} aria-label="crtx, all agents">
                <img src="/icon.svg" alt="" width="28" height="28" />
                <span>crtx</span>
            </Link>
            <div className={styles.search}>
                <SearchBox />
            </div>
            <div className={styles.tools}>
                <NetworkBadge />
                <ThemeSwitch />
                <WalletButton />
            </div>
            <Navigation />
        </div>
    </header>
);
