// `/webhooks`: the webhooks of the connected wallet.

import { Page } from '../../shared/ui/Page';
import { SessionGate } from '../wallet';
import Webhooks from './Webhooks';
import { words } from './words';

export const WebhooksPage = () => (
    <Page title={words.page.title}>
        <p className="muted">{words.page.what}</p>
        <SessionGate why={words.page.why}>{(account) => <Webhooks key={account} account={account} />}</SessionGate>
    </Page>
);
