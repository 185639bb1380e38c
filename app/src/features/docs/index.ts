export { docsRoute } from './route';
