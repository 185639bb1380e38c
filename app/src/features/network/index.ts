export { NetworkBadge } from './NetworkBadge';
export { networkRoute } from './route';
