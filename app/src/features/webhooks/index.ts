export { webhooksRoute } from './route';
