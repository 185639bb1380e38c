export { keyNamesQuery } from './keyNames';
export { executionsRoute } from './route';
