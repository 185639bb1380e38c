// Shown for an address that no page has.

import { Link } from '@tanstack/react-router';

import { buttonClass } from '../shared/ui/Button';
import { Page } from '../shared/ui/Page';
import { words } from './words';

export const NotFoundPage = () => (
    <Page title={words.notFound.title}>
        <p>{words.notFound.text}</p>
        <p>
            <Link to="/" className={buttonClass('primary')}>
                {words.notFound.action}
            </Link>
        </p>
    </Page>
);
