export { LazyAgentWebhooks } from './LazyAgentWebhooks';
export { webhooksRoute } from './route';
