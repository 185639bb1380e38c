export { adminRoute } from './route';
export { LazySuspendAgent } from './suspend/LazySuspendAgent';
