// Links to what is not a page of the dashboard.

import styles from './Shell.module.css';

export const Footer = () => (
    <footer className={styles.footer}>
        <div className={styles.footerInner}>
            <span>crtx: pay by the call, proven by the hash</span>
            <a href="/docs/" target="_blank" rel="noreferrer">
                HTTP API
            </a>
        </div>
    </footer>
);
