// The webhooks of a wallet at the service: the list, the log of deliveries, and what changes them.

import { queryOptions } from '@tanstack/react-query';

import { type Schemas, api, asWallet, body } from '../../shared/api/client';

export type Webhook = Schemas['Webhook'];
export type Delivery = Schemas['Delivery'];

/** No event tells of a delivery. The log is watched while it is open. */
const LIST_MS = 30_000;
const LOG_MS = 15_000;
const LOG_LINES = 20;

const at = (wallet: string, webhookId: string) => ({
    ...asWallet(wallet),
    params: { path: { webhook_id: webhookId } },
});

export const webhooksQuery = (wallet: string) =>
    queryOptions({
        queryKey: ['webhooks', wallet] as const,
        queryFn: ({ signal }) => body(api.GET('/v1/webhooks', { ...asWallet(wallet), signal })),
        refetchInterval: LIST_MS,
    });

export const logQuery = (wallet: string, webhookId: string) =>
    queryOptions({
        queryKey: ['webhooks', wallet, webhookId] as const,
        queryFn: ({ signal }) =>
            body(
                api.GET('/v1/webhooks/{webhook_id}/deliveries', {
                    ...asWallet(wallet),
                    params: { path: { webhook_id: webhookId }, query: { limit: LOG_LINES } },
                    signal,
                }),
            ),
        refetchInterval: LOG_MS,
    });

export type NewWebhook = { url: string; /** The service says which there are. */ types: string[]; agents: string[] };

export const create = (wallet: string, { url, types, agents }: NewWebhook): Promise<Schemas['CreatedWebhookAnswer']> =>
    body(api.POST('/v1/webhooks', { ...asWallet(wallet), body: { url, types: types as Webhook['types'], agents } }));

export const enable = (wallet: string, webhookId: string): Promise<Webhook> =>
    body(api.PATCH('/v1/webhooks/{webhook_id}', { ...at(wallet, webhookId), body: { enabled: true } }));

export const rotate = (wallet: string, webhookId: string): Promise<Schemas['RotatedSecretAnswer']> =>
    body(api.POST('/v1/webhooks/{webhook_id}/rotate', at(wallet, webhookId)));

export const sendTest = (wallet: string, webhookId: string): Promise<Schemas['WebhookTestAnswer']> =>
    body(api.POST('/v1/webhooks/{webhook_id}/test', at(wallet, webhookId)));

export async function remove(wallet: string, webhookId: string): Promise<void> {
    await api.DELETE('/v1/webhooks/{webhook_id}', at(wallet, webhookId));
}
