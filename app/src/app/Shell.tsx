// What surrounds every page: skip link, header, main, footer, and the announcement of a new page.

import { Outlet } from '@tanstack/react-router';

import { Announcer } from './Announcer';
import { Footer } from './Footer';
import { Header } from './Header';
import styles from './Shell.module.css';

export const Shell = () => (
    <>
        <a className={styles.skip} href="#main">
            Skip to the content
        </a>
        <Header />
        <main id="main" tabIndex={-1} className={styles.main}>
            <Outlet />
        </main>
        <Footer />
        <Announcer />
    </>
);
