export { browseRoute } from './route';
