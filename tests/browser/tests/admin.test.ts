// What the admin and the guardian do in the browser, on a network of its own: badges, rules, roles, and the emergency
// stops.

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { useBrowser } from '../support/browser';
import { usdcOn } from '../support/chain';
import { type Hand, focusOf, keyboard, pointer } from '../support/hand';
import { NOBODY, configOf, factsOf, hexOf, travel, until } from '../support/market';
import { type Network, startNetwork } from '../support/network';
import { actAs, openForm, payButton } from '../support/runs';

let network: Network;
let end: () => Promise<void>;

beforeAll(async () => {
    ({ network, end } = await startNetwork());
});
afterAll(() => end?.());

const open = useBrowser(() => network);
/** Some address that has no role. */
const SOMEBODY = '82vpEBc9TeDX6S1Dd3UJ77nQeqFkHSMEgANRBhc28GR8';
/** Another one: no key has two roles. */
const ANOTHER = 'BUGuuhPsHpk8YZrL2GctsCtXGneL1gmT5zYb7eMHZDWf';

async function openAdmin(page: Page, role = 'Admin', by?: Hand): Promise<void> {
    await page.goto('/admin');
    await actAs(page, role, by);
    if (role === 'Admin') await page.getByRole('heading', { name: 'Verify creators' }).waitFor();
    if (role === 'Guardian') await page.getByRole('heading', { name: 'Emergency stop' }).waitFor();
}

/** Presses the button of an action, and says yes to its question. */
async function press(page: Page, label: string, by: Hand = pointer(page)): Promise<void> {
    const button = page.getByRole('button', { name: new RegExp(`^${label}`) });
    const asks = (await button.innerText()).endsWith('…');
    await by.press(button);
    if (asks) await by.press(page.getByRole('dialog').getByRole('button', { name: label, exact: true }));
}

/** The same, until the configuration has changed and the page has noticed. */
async function act(page: Page, label: string, by?: Hand): Promise<void> {
    const { revision: before } = await configOf(network);
    await press(page, label, by);
    await until(() => configOf(network), ({ revision }) => revision > before);
    await page.getByText(/^(The chain is being read|The transaction is being tried|Your wallet asks|Sent\. Waiting|Confirmed\. Waiting)/).waitFor({ state: 'detached' });
    if (by !== undefined) expect(await focusOf(page), `after ${label}`).not.toBe('body');
}

/** Lets a page see another admin in the configuration. Both are hexadecimal digits. */
const nameAdmin = async (page: Page, admin: string, liar: string): Promise<void> => {
    await page.route(network.rpc_url, async (route) => {
        const answer = await route.fetch();
        const text = await answer.text();
        const lie = text.replace(/[A-Za-z0-9+/=]{700,}/g, (data) =>
            Buffer.from(Buffer.from(data, 'base64').toString('hex').replace(admin, liar), 'hex').toString('base64'),
        );
        await route.fulfill({ response: answer, body: lie });
    });
};

type Agent = { creator: { pubkey: string; verified: boolean } };
const agentOf = async (): Promise<Agent> => (await (await fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}`)).json()) as Agent;

const execute = (task: string): Promise<Response> =>
    fetch(`${network.base_url}/v1/agents/${network.agents[0]?.agent_id}/execute`, {
        method: 'POST',
        headers: { authorization: `Bearer ${network.api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ task }),
    });

test('by keyboard alone a creator gets the badge, every agent of it shows it, and loses it again', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await openAdmin(page, 'Admin', keys);
    expect((await agentOf()).creator.verified).toBe(false);
    await keys.press(page.getByRole('link', { name: /^Who is this/ }).first());
    await press(page, 'Verify this creator as', keys);
    await page.getByText('The creator is verified.').waitFor();
    expect(await focusOf(page)).not.toBe('body');
    expect((await agentOf()).creator.verified).toBe(true);
    await page.goto(`/agents/${network.agents[0]?.agent_id}`);
    await page.getByText('Verified creator').first().waitFor();

    await page.goto(`/admin?creator=${(await agentOf()).creator.pubkey}`);
    await press(page, 'Take the badge away', keys);
    await page.getByText('The badge is gone.').waitFor();
    expect((await agentOf()).creator.verified).toBe(false);
    await page.getByRole('button', { name: /^Verify this creator/ }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('a wallet without a profile, and what is no address, cannot be verified', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await openAdmin(page);
    await keys.write(page.getByLabel('Wallet of the creator'), 'me');
    await keys.press(page.getByRole('button', { name: 'Look up' }));
    await page.getByText('This is not an address of a wallet').waitFor();
    await keys.write(page.getByLabel('Wallet of the creator'), SOMEBODY);
    await keys.press(page.getByRole('button', { name: 'Look up' }));
    await page.getByText('This wallet has no creator profile').waitFor();
    expect(await page.getByRole('button', { name: /^Verify this creator/ }).count()).toBe(0);
    expect(problems).toEqual([]);
    await context.close();
});

test('by keyboard alone: a stop of new calls holds in the browser and over HTTP, and its end allows them again', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await openAdmin(page, 'Admin', keys);
    await keys.press(page.getByRole('button', { name: 'Stop new calls …' }));
    await keys.press(page.getByRole('dialog').getByRole('button', { name: 'Cancel' }));
    expect((await configOf(network)).isOpeningsPaused).toBe(false);
    try {
        await act(page, 'Stop new calls', keys);
        expect(await configOf(network)).toMatchObject({ isOpeningsPaused: true, isListingsPaused: false });
        await openForm(page, network, 0);
        await actAs(page, 'Caller');
        await page.getByText('The marketplace is paused').waitFor();
        expect((await execute('one two')).status).toBe(503);
        await page.goto('/network');
        await page.getByText('The market is paused').waitFor();
    } finally {
        await openAdmin(page);
        await act(page, 'Resume new calls', keys);
    }
    await until(() => factsOf(network), ({ openings_paused: isPaused }) => !isPaused);
    expect(await (await execute('one two')).json()).toMatchObject({ status: 'completed' });
    expect(problems).toEqual([]);
    await context.close();
});

test('the guardian stops new calls and cannot resume them, and the admin resumes', async () => {
    const { page, context, problems } = await open();
    const { admin, guardian } = await configOf(network);
    await openAdmin(page, 'Guardian');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Admin' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Verify creators' }).count()).toBe(0);
    expect(await page.getByRole('heading', { name: 'Roles' }).count()).toBe(0);
    try {
        await act(page, 'Stop new calls');
        await page.getByText('New calls are stopped.').waitFor();
        await page.getByText('Only the admin can resume new calls.').waitFor();
        expect(await page.getByRole('button', { name: /^Resume new calls/ }).count()).toBe(0);
        await page.getByRole('button', { name: /^Stop new listings/ }).waitFor();
        expect(await configOf(network)).toMatchObject({ isOpeningsPaused: true, isListingsPaused: false });
        await until(() => factsOf(network), ({ openings_paused: isPaused }) => isPaused);
        expect((await execute('one two')).status).toBe(503);

        // The program refuses it, too, if a node makes the page believe that the guardian is the admin.
        await nameAdmin(page, admin, guardian);
        await page.reload();
        await press(page, 'Resume new calls');
        await page.getByText('The program refuses this: the signer is neither the admin nor the guardian').waitFor();
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        expect(await configOf(network)).toMatchObject({ admin, isOpeningsPaused: true });
    } finally {
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await openAdmin(page);
        await act(page, 'Resume new calls');
    }
    await until(() => factsOf(network), ({ openings_paused: isPaused }) => !isPaused);
    expect(await (await execute('one two')).json()).toMatchObject({ status: 'completed' });
    expect(problems).toEqual([]);
    await context.close();
});

test('new listings are stopped alone, and calls go on', async () => {
    const { page, context, problems } = await open();
    await openAdmin(page);
    try {
        await act(page, 'Stop new listings');
        expect(await configOf(network)).toMatchObject({ isOpeningsPaused: false, isListingsPaused: true });
        await until(() => factsOf(network), ({ listings_paused: isPaused }) => isPaused);
        await page.reload();
        await page.getByText('Paused: no new listings').waitFor();
        expect(await (await execute('one two')).json()).toMatchObject({ status: 'completed' });
    } finally {
        await openAdmin(page);
        await act(page, 'Resume new listings');
    }
    await until(() => factsOf(network), ({ listings_paused: isPaused }) => !isPaused);
    expect(problems).toEqual([]);
    await context.close();
});

test('by keyboard alone the guardian suspends an agent, everybody reads why it takes no calls, and the admin resumes it', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    const agentId = network.agents[0]?.agent_id ?? '';
    await openAdmin(page, 'Guardian', keys);
    await keys.write(page.getByLabel('Address of the agent'), 'an agent');
    await keys.press(page.getByRole('button', { name: 'Open its page' }));
    await page.getByText('This is not an address of an agent').waitFor();
    await keys.write(page.getByLabel('Address of the agent'), agentId);
    await keys.press(page.getByRole('button', { name: 'Open its page' }));
    try {
        await press(page, 'Suspend this agent', keys);
        await page.getByText('The agent is suspended.').waitFor();
        expect(await focusOf(page)).not.toBe('body');
        await page.getByText('Suspended by the marketplace').waitFor();
        await page.getByText('Only the admin can resume it.').first().waitFor();
        expect(await page.getByText('Paused by its creator').count()).toBe(0);
        expect(await page.getByRole('button', { name: /this agent/ }).count()).toBe(0);
        expect((await execute('one two')).ok).toBe(false);
        // The market itself goes on.
        expect(await configOf(network)).toMatchObject({ isOpeningsPaused: false, isListingsPaused: false });

        await openForm(page, network, 0);
        await actAs(page, 'Caller');
        await page.getByText('The agent is suspended').waitFor();
        await payButton(page).waitFor();
        expect(await payButton(page).isDisabled()).toBe(true);
        await page.goto(`/creator/agents/${agentId}`);
        await actAs(page, 'Creator');
        await page.getByText('The marketplace has suspended this agent').waitFor();
        await page.goto('/creator');
        await page.getByRole('table', { name: 'My agents' }).getByText('Suspended', { exact: true }).waitFor();
    } finally {
        await page.goto(`/agents/${agentId}`);
        await actAs(page, 'Admin', keys);
        await press(page, 'Resume this agent', keys);
        await page.getByText('The agent is resumed.').waitFor();
        expect(await focusOf(page)).not.toBe('body');
    }
    await page.getByText('Suspended by the marketplace').waitFor({ state: 'detached' });
    expect(await (await execute('one two')).json()).toMatchObject({ status: 'completed' });
    expect(problems).toEqual([]);
    await context.close();
});

test('by keyboard alone parameters are announced, added to, withdrawn, and hold after a week', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await openAdmin(page);
    const announce = page.getByRole('button', { name: /^Announce these parameters/ });
    await page.getByText('Change a field first').waitFor();
    expect(await announce.isDisabled()).toBe(true);
    await keys.write(page.getByLabel('Fee, percent of a payment'), '7');
    await page.getByText('The fee is 0 to 5 percent.').waitFor();
    expect(await announce.isDisabled()).toBe(true);
    await keys.write(page.getByLabel('Fee, percent of a payment'), '1.5');
    const preview = page.getByRole('table', { name: 'Differences from the current parameters' });
    expect(await preview.getByRole('row').nth(1).innerText()).toMatch(/Fee\s+1 %\s+1\.5 %/);
    await act(page, 'Announce these parameters', keys);
    expect(await configOf(network)).toMatchObject({ feeBps: 100, announcedFeeBps: 150 });

    // The next announcement keeps what is announced.
    await page.getByText('Change a field first').waitFor();
    await page.getByLabel('Tier 4: collateral, USDC').fill('2000');
    await act(page, 'Announce these parameters', keys);
    const announced = await until(() => factsOf(network), (facts) => facts.announced_parameters?.collateral_tiers[3]?.collateral_usdc === 2_000);
    expect(announced).toMatchObject({ parameters: { fee_bps: 100 }, announced_parameters: { fee_bps: 150 } });
    await page.goto('/network');
    const table = page.getByRole('table', { name: 'Announced parameters' });
    await table.getByText('1.5 %').waitFor();
    await table.getByText(/2.000 USDC for a price above 10 USDC/).waitFor();
    await page.getByText(/^in [67] d/).waitFor();

    await openAdmin(page);
    expect(await page.getByRole('button', { name: 'Apply the announced parameters' }).isDisabled()).toBe(true);
    await act(page, 'Withdraw the announced parameters', keys);
    expect(await configOf(network)).toMatchObject({ feeBps: 100, announcedFeeBps: 0, parametersFrom: 0n });
    await until(() => factsOf(network), (facts) => facts.announced_parameters === null);

    await keys.write(page.getByLabel('Fee, percent of a payment'), '1.5');
    await act(page, 'Announce these parameters', keys);
    await travel(network, 7.01);
    await page.reload();
    // The service applies what is due as well, so it may have been faster than this press.
    await Promise.race([
        page.getByRole('button', { name: 'Apply the announced parameters' }).and(page.locator(':enabled')).click().catch(() => undefined),
        until(() => configOf(network), ({ parametersFrom }) => parametersFrom === 0n),
    ]);
    const applied = await until(() => configOf(network), ({ feeBps }) => feeBps === 150);
    expect(applied).toMatchObject({ announcedFeeBps: 0, parametersFrom: 0n });
    const { roles } = await factsOf(network);
    const before = await usdcOn(network, roles.treasury_owner);
    expect((await execute('three four')).status).toBe(200);
    expect((await usdcOn(network, roles.treasury_owner)) - before).toBe(150n);
    await page.goto('/network');
    await page.getByText('1.5 %', { exact: true }).waitFor();
    expect(problems).toEqual([]);
    await context.close();
});

test('another wallet sees no action, and the chain refuses it even if its page is made to believe otherwise', async () => {
    const { page, context, problems } = await open();
    await openAdmin(page, 'Caller');
    await page.getByText('This wallet is neither the admin nor the guardian').waitFor();
    expect(await page.getByRole('main').getByRole('button').allInnerTexts()).toEqual(['Copy', 'Copy']);
    expect(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Admin' }).count()).toBe(0);

    // A node that names the caller as the admin.
    const { admin, isOpeningsPaused } = await configOf(network);
    await nameAdmin(page, admin, hexOf(network.wallet));
    await page.reload();
    await press(page, 'Stop new calls');
    await page.getByText('The program refuses this: the signer is neither the admin nor the guardian').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    expect(await configOf(network)).toMatchObject({ admin, isOpeningsPaused });
    expect(problems).toEqual([]);
    await context.close();
});

test('by keyboard alone the role of the admin is nominated, taken, and handed back', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await openAdmin(page);
    const first = (await factsOf(network)).roles.admin;
    await keys.write(page.getByLabel('Wallet of the next admin'), SOMEBODY);
    await act(page, 'Nominate the next admin', keys);
    await act(page, 'Withdraw the nomination', keys);
    await keys.write(page.getByLabel('Wallet of the next admin'), network.wallet);
    await act(page, 'Nominate the next admin', keys);
    await actAs(page, 'Caller', keys);
    await press(page, 'Become the admin', keys);
    await page.getByRole('heading', { name: 'Verify creators' }).waitFor();
    expect((await configOf(network)).admin).toBe(hexOf(network.wallet));

    await keys.write(page.getByLabel('Wallet of the next admin'), first);
    await act(page, 'Nominate the next admin', keys);
    await actAs(page, 'Admin', keys);
    await press(page, 'Become the admin', keys);
    await page.getByRole('heading', { name: 'Verify creators' }).waitFor();
    expect((await configOf(network)).admin).toBe(hexOf(first));
    expect(problems).toEqual([]);
    await context.close();
});

test('by keyboard alone a resolver is removed at once, and its successor takes office after sixteen days', async () => {
    const { page, context, problems } = await open();
    const keys = keyboard(page);
    await openAdmin(page);
    const { insurance_owner: insurance } = (await factsOf(network)).roles as unknown as { insurance_owner: string };
    await keys.write(page.getByLabel('Next resolver'), insurance);
    await page.getByText('must be neither the treasury owner nor the resolver').waitFor();
    expect(await page.getByRole('button', { name: /^Announce these holders/ }).isDisabled()).toBe(true);
    await keys.write(page.getByLabel('Next resolver'), SOMEBODY);
    await act(page, 'Announce these holders', keys);
    expect((await configOf(network)).announcedResolver).toBe(hexOf(SOMEBODY));
    await act(page, 'Remove the resolver', keys);
    expect(await configOf(network)).toMatchObject({ resolver: NOBODY, announcedResolver: hexOf(SOMEBODY) });
    await page.goto('/network');
    await page.getByText('Other role holders are announced').waitFor();
    await page.getByText('Disputes wait until a successor takes office.').waitFor();

    // From the time to which the chain has been moved already.
    await travel(network, 24);
    await openAdmin(page);
    await Promise.race([
        page.getByRole('button', { name: 'Apply the announced roles' }).and(page.locator(':enabled')).click().catch(() => undefined),
        until(() => configOf(network), ({ rolesFrom }) => rolesFrom === 0n),
    ]);
    await until(() => configOf(network), ({ resolver }) => resolver === hexOf(SOMEBODY));
    expect((await configOf(network)).rolesFrom).toBe(0n);
    expect(problems).toEqual([]);
    await context.close();
});

test('the guardian is removed and named again at once', async () => {
    const { page, context, problems } = await open();
    const { guardian, admin } = (await factsOf(network)).roles;
    await openAdmin(page);
    await act(page, 'Remove the guardian');
    expect((await configOf(network)).guardian).toBe(NOBODY);
    await page.getByRole('button', { name: /^Remove the guardian/ }).waitFor({ state: 'detached' });
    await page.getByLabel('Next guardian').fill(admin);
    await page.getByText('This key is the admin.').waitFor();
    expect(await page.getByRole('button', { name: /^Name the guardian/ }).isDisabled()).toBe(true);
    await page.getByLabel('Next guardian').fill(guardian);
    await act(page, 'Name the guardian');
    expect((await configOf(network)).guardian).toBe(hexOf(guardian));
    expect(problems).toEqual([]);
    await context.close();
});

test('another gateway authority is in office at once, and no key has two roles', async () => {
    const { page, context, problems } = await open();
    const first = (await factsOf(network)).roles.admin;
    await openAdmin(page);
    await page.getByLabel('Next gateway authority').fill(first);
    await page.getByText('This key is the admin.').waitFor();
    expect(await page.getByRole('button', { name: /^Replace the gateway authority/ }).isDisabled()).toBe(true);
    await page.getByLabel('Next gateway authority').fill(ANOTHER);
    await act(page, 'Replace the gateway authority');
    expect((await configOf(network)).gatewayAuthority).toBe(hexOf(ANOTHER));
    expect(problems).toEqual([]);
    await context.close();
});
