// What the service tells a creator about the calls of one agent. The types stand here until the description of the API
// has them; then `shared/api/schema.d.ts` takes their place.

import type { Schemas } from '../../../shared/api/client';
import { api, asWallet, body } from '../../../shared/api/client';

export type AgentFailure = {
    readonly execution_id: string;
    readonly initiated_at: string;
    readonly code: string;
    readonly message: string;
    /** A service that does not keep it leaves it out. */
    readonly request_id?: string | null;
};

export type AgentHealth = {
    readonly executions: number;
    readonly completed: number;
    readonly failed: number;
    readonly success_rate: number | null;
    readonly p50_ms: number | null;
    readonly p95_ms: number | null;
    /** Newest first. */
    readonly failures: readonly AgentFailure[];
};

export type DayOfCalls = {
    readonly day: string | null;
    readonly completed: number;
    readonly failed: number;
    readonly disputed: number;
    readonly creator_usdc: bigint;
    readonly platform_usdc: bigint;
};

export type AgentCall = Schemas['ExecutionSummary'] & {
    readonly failure: string | null;
    readonly creator_amount_usdc: bigint;
    readonly execution_time_ms: number | null;
};

export type CallsPage = {
    readonly executions: readonly AgentCall[];
    readonly total: number;
    readonly next_cursor: string | null;
};

type Query = Record<string, string | number>;

/** A path that the generated types do not know yet. */
const get = api.GET as unknown as (path: string, options: object) => Promise<{ data?: unknown }>;

export const read = <T>(wallet: string, path: string, params: { path?: Query; query?: Query }, signal: AbortSignal) =>
    body(get(path, { ...asWallet(wallet), params, signal }) as Promise<{ data?: T }>);
