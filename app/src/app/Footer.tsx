// The line of links below every page.

import { Link } from '@tanstack/react-router';

import styles from './Shell.module.css';

export const Footer = () => (
    <footer className={styles.footer}>
        <div className={styles.footerInner}>
            <span>crtx: pay by the call, proven by the hash</span>
            <Link to="/docs">HTTP API</Link>
        </div>
    </footer>
);
