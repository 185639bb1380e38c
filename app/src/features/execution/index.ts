export { RefundButton } from './own/RefundButton';
export { executionQuery } from './query';
export { Result } from './result/Result';
export { executionRoute } from './route';
export type { Claims } from './verify/evidence';
export { LazyVerifyPanel } from './verify/LazyVerifyPanel';
