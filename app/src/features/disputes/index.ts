export { type Dispute, disputesQuery } from './query';
export { disputeRoutes } from './route';
export { secondsOf, turnOf } from './state';
