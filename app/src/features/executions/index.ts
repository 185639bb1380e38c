export { executionsRoute } from './route';
