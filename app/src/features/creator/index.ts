export { creatorRoute, ownAgentRoute } from './route';
