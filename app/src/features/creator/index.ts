export { NEW_AGENT, managePath } from './paths';
export { ownListingsQuery } from './query';
export { isAboutDocument } from './reasons';
export { creatorRoute, ownAgentRoute } from './route';
