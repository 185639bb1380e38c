export { docsRoutes } from './route';
