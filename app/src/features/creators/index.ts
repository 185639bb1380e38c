export { publicCreatorRoute } from './route';
