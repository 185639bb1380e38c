// The line of links below every page.

import { Link } from '@tanstack/react-router';

import styles from './Shell.module.css';
import { words } from './words';

export const Footer = () => (
    <footer className={styles.footer}>
        <div className={styles.footerInner}>
            <span>{words.footer.claim}</span>
            <Link to="/docs">{words.footer.docs}</Link>
            <Link to="/docs/api">{words.footer.api}</Link>
            <Link to="/network">{words.footer.network}</Link>
        </div>
    </footer>
);
