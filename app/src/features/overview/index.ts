export { overviewRoute } from './route';
