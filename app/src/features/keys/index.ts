export { keysRoute, newKeyRoute } from './route';
