// What was asked of an agent last, so that a call can be changed and started again. Lives as long as the tab.

import { type JsonObject, isObject } from './form/json';
import type { Request } from './call/request';

const PREFIX = 'crtx.request.';

export function rememberRequest(agentId: string, request: Request): void {
    try {
        sessionStorage.setItem(PREFIX + agentId, JSON.stringify(request));
    } catch {
        // Only a convenience.
    }
}

export function rememberedRequest(agentId: string): Request | null {
    try {
        const request: unknown = JSON.parse(sessionStorage.getItem(PREFIX + agentId) ?? 'null');
        if (!isObject(request) || typeof request['task'] !== 'string' || !isObject(request['parameters'])) return null;
        return { task: request['task'], parameters: request['parameters'] as JsonObject };
    } catch {
        return null;
    }
}
