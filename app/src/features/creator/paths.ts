// Pages of other features that a creator's pages link to.

const of = (path: string, search: Record<string, string> = {}): string => {
    const query = new URLSearchParams(search).toString();
    return query === '' ? path : `${path}?${query}`;
};

export const NEW_AGENT = of('/creator/new');
export const managePath = (agentId: string): string => of(`/creator/agents/${agentId}`);
export const editPath = (agentId: string): string => of(`/creator/agents/${agentId}/edit`);
export const testPath = (agentId: string): string => of(`/creator/agents/${agentId}/test`);
export const MY_EXECUTIONS = of('/executions', { role: 'creator' });
export const executionsPath = (agentId: string): string => of('/executions', { role: 'creator', agent_id: agentId });
export const MY_DISPUTES = of('/disputes', { role: 'creator' });
