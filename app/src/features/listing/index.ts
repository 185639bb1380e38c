export { unpublishedName } from './draft';
export { listingRoutes } from './route';
