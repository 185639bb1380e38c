export { browseRoute } from './route';
export { SearchBox } from './SearchBox';
