export { NetworkBadge } from './NetworkBadge';
export { networkRoute } from './route';
export { marketHistoryQuery } from './totals/query';
