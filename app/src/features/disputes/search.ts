// Which disputes the list shows, as it stands in the URL.

export const ROLES = ['caller', 'creator', 'resolver'] as const;
export type Role = (typeof ROLES)[number];

export const STATUSES = ['open', 'upheld', 'rejected', 'expired', 'cancelled', 'abusive'] as const;
export type Status = (typeof STATUSES)[number];

export type DisputesSearch = { role?: Role; status?: Status };

/** Reads the URL. What the service would refuse is left out. */
export function readDisputesSearch(raw: Record<string, unknown>): DisputesSearch {
    const role = ROLES.find((name) => name === raw['role']);
    const status = STATUSES.find((name) => name === raw['status']);
    return { ...(role && { role }), ...(status && { status }) };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export type NewDisputeSearch = { execution?: string };

/** Of the page that raises a dispute: the execution that it is about. */
export function readNewDisputeSearch({ execution }: Record<string, unknown>): NewDisputeSearch {
    return typeof execution === 'string' && UUID.test(execution) ? { execution: execution.toLowerCase() } : {};
}
