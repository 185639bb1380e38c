// The pages of disputes, for `pages.ts`.

import { prepareDecision, raiseButton, showOpenDispute, signIn } from './disputes';
import { call, connect } from './runs';
import type { PageCase } from './pages';

export const DISPUTE_PAGES: readonly PageCase[] = [
    {
        name: 'disputes-not-connected',
        path: () => '/disputes',
        ready: (page) => page.getByText('Connect a wallet').waitFor(),
    },
    {
        name: 'disputes',
        path: () => '/',
        ready: async (page, network) => {
            await showOpenDispute(page, network, 'Resolver');
            await page.goto('/disputes?role=resolver&status=open');
            await page.getByRole('row').nth(1).waitFor();
            await page.getByText('That is all').waitFor();
        },
    },
    {
        name: 'disputes-none',
        path: () => '/disputes?status=expired',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await page.getByText('No dispute is expired').waitFor();
        },
    },
    {
        name: 'dispute-new-choose',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            await call(page, network);
            await page.goto('/disputes/new');
            await page.getByText('Which execution is it about?').waitFor();
        },
    },
    {
        name: 'dispute-new',
        path: () => '/',
        ready: async (page, network) => {
            await connect(page);
            const id = await call(page, network);
            await page.goto(`/disputes/new?execution=${id}`);
            await page.getByLabel('Files that prove it').setInputFiles([{ name: 'shot.png', mimeType: 'image/png', buffer: Buffer.from('x') }]);
            await raiseButton(page).click();
            await page.getByText('Enter what happened').waitFor();
        },
    },
    {
        name: 'dispute',
        path: () => '/',
        ready: (page, network) => showOpenDispute(page, network, 'Caller'),
    },
    {
        name: 'dispute-decide',
        path: () => '/',
        ready: async (page, network) => {
            const dispute = await showOpenDispute(page, network, 'Caller');
            await prepareDecision(page, dispute, 'The description says that case matters.', '0.015');
            await page.getByRole('region', { name: 'What happens' }).waitFor();
        },
    },
    {
        name: 'dispute-not-shown',
        path: () => '/disputes/11111111111111111111111111111111',
        ready: async (page) => {
            await connect(page);
            await signIn(page);
            await page.getByText('This wallet has no such dispute').waitFor();
        },
    },
];
