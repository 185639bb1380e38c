export { listingRoutes } from './route';
