export { disputeRoutes } from './route';
