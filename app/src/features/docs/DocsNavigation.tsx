// The pages of the documentation, above each of them.

import { Link } from '@tanstack/react-router';

import styles from './Document.module.css';
import { DOCUMENT_IDS, titleOf } from './documents';
import { words } from './words';

export const DocsNavigation = () => (
    <nav aria-label={words.documentation} className={styles.pages}>
        {DOCUMENT_IDS.map((id) => (
            <Link key={id} to="/docs/$document" params={{ document: id }}>
                {titleOf(id)}
            </Link>
        ))}
        <Link to="/docs/api">{words.api}</Link>
    </nav>
);
