// `/docs/…`: one document of the repository, with the headings of the page at its side.

import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';

import { Page } from '../../shared/ui/Page';
import { DocsNavigation } from './DocsNavigation';
import styles from './Document.module.css';
import { Markdown } from './Markdown';
import { parseDocument } from './markdown';
import { words } from './words';

const route = getRouteApi('/docs/$document');

export function DocumentPage() {
    const markdown = route.useLoaderData();
    const document = useMemo(() => parseDocument(markdown), [markdown]);
    return (
        <Page title={document.title}>
            <DocsNavigation />
            <div className={styles.columns}>
                <article className={styles.document}>
                    <Markdown document={document} />
                </article>
                <nav aria-label={words.onThisPage} className={styles.contents}>
                    <ul>
                        {document.headings
                            .filter(({ depth }) => depth <= 3)
                            .map(({ depth, text, anchor }) => (
                                <li key={anchor} data-depth={depth}>
                                    <a href={`#${anchor}`}>{text}</a>
                                </li>
                            ))}
                    </ul>
                </nav>
            </div>
        </Page>
    );
}
