// Shown for an address that no page has.

import { Link } from '@tanstack/react-router';

import { buttonClass } from '../shared/ui/Button';
import { Page } from '../shared/ui/Page';

export const NotFoundPage = () => (
    <Page title="There is no such page">
        <p>The address may be misspelt, or the agent may have been closed.</p>
        <p>
            <Link to="/" className={buttonClass('primary')}>
                See all agents
            </Link>
        </p>
    </Page>
);
