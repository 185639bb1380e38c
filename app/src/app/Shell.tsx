// The frame of every page: skip link, header, main, footer, and the announcement of a new page.

import { Outlet } from '@tanstack/react-router';

import { Toaster } from '../shared/ui/Toaster';
import { useEvents } from '../shared/wallet/events';
import { useSessionKeeper } from '../shared/wallet/useSession';
import { Announcer } from './Announcer';
import { Away } from './Away';
import { useKeptFocus } from './focus';
import { Footer } from './Footer';
import { Header } from './Header';
import { PausedBanner } from './PausedBanner';
import styles from './Shell.module.css';
import { words } from './words';

export function Shell() {
    useSessionKeeper();
    useEvents();
    useKeptFocus();
    return (
        <>
            <a className={styles.skip} href="#main">
                {words.skip}
            </a>
            <Header />
            <Away />
            <PausedBanner />
            <main id="main" tabIndex={-1} className={styles.main}>
                <Outlet />
            </main>
            <Footer />
            <Announcer />
            <Toaster />
        </>
    );
}
