// Executions to prove, made by the API alone, and nodes that lie about their records.

import type { Page } from 'playwright-core';

import { type ExecutionRecordArgs, getExecutionRecordCodec } from '../../../app/src/generated/accounts/executionRecord';
import type { Network } from './network';

export type Proved = { readonly record: string; readonly executionId: string; readonly result: string };

/** An execution with a result, or one that was refunded (`behaviour`: of the demo's second agent). */
export async function prove(network: Network, task: string, behaviour?: string): Promise<Proved> {
    const agent = network.agents[behaviour === undefined ? 0 : 1]?.agent_id;
    const headers = { authorization: `Bearer ${network.api_key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ task, parameters: behaviour === undefined ? {} : { behaviour } });
    const answer = await fetch(`${network.base_url}/v1/agents/${agent}/execute`, { method: 'POST', headers, body });
    const text = await answer.text();
    type Made = { execution_id?: string; on_chain_record?: string; result?: string; error?: { execution_id?: string } };
    const made = JSON.parse(text) as Made;
    const executionId = made.execution_id ?? made.error?.execution_id;
    if (executionId === undefined) throw new Error(`no execution: ${text}`);
    const found = (await (await fetch(`${network.base_url}/v1/executions/${executionId}`, { headers })).json()) as Made;
    const record = new URL(found.on_chain_record ?? '').pathname.split('/').at(-1) ?? '';
    return { record, executionId, result: made.result ?? '' };
}

/** The service does not answer any request of the API. */
export const withoutApi = (page: Page): Promise<unknown> => page.route('**/v1/**', (route) => route.abort());

/** The node shows another record than the chain has. */
export async function lieAbout(page: Page, { rpc_url: rpcUrl }: Network, record: string, lie: Partial<ExecutionRecordArgs>): Promise<void> {
    const codec = getExecutionRecordCodec();
    await page.route(
        (url) => url.origin === new URL(rpcUrl).origin,
        async (route) => {
            const { method, params } = route.request().postDataJSON() as { method: string; params: [string[]] };
            if (method !== 'getMultipleAccounts') return route.continue();
            const answer = await route.fetch();
            const json = (await answer.json()) as { result: { value: ({ data: [string, string] } | null)[] } };
            const account = json.result.value[params[0].indexOf(record)];
            if (account) {
                const altered = codec.encode({ ...codec.decode(Buffer.from(account.data[0], 'base64')), ...lie });
                account.data[0] = Buffer.from(altered as Uint8Array).toString('base64');
            }
            return route.fulfill({ response: answer, json });
        },
    );
}
