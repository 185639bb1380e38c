export { adminRoute } from './route';
