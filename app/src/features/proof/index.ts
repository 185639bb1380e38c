export { BadgeCode } from './BadgeCode';
export { proofRoute } from './route';
