export { keyNamesQuery } from './keyNames';
export { startOf } from './ranges';
export { executionsRoute } from './route';
export { type TotalFigures, type Totals, totalsQuery } from './totals';
