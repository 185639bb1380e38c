export { statementRoute } from './route';
