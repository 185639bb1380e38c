export { RefundButton } from './own/RefundButton';
export { executionQuery } from './query';
export { Result } from './result/Result';
export { executionRoute } from './route';
export { CheckList } from './verify/CheckList';
export { type Check, isRefund, runChecks } from './verify/checks';
export { type ChainEvidence, type Claims, type Found, need, readChain, tried } from './verify/evidence';
export { LazyVerifyPanel } from './verify/LazyVerifyPanel';
export { committedHash, textOf, withStatements } from './verify/statements';
