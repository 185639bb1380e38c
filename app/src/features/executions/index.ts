export { keyNamesQuery } from './keyNames';
export { startOf } from './ranges';
export { executionsRoute } from './route';
export { totalsQuery } from './totals';
