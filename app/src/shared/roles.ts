// What the roles of the marketplace let a wallet do.

import type { Schemas } from './api/client';

type Roles = Pick<Schemas['NetworkRoles'], 'admin' | 'guardian'>;

/** Whether the wallet may stop new calls, new listings and an agent. Only the admin resumes them. */
export const mayStop = (wallet: string, { admin, guardian }: Roles): boolean => wallet === admin || wallet === guardian;
