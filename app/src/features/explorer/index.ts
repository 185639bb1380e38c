export { explorerRoutes } from './route';
