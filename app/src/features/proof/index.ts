export { proofRoute } from './route';
