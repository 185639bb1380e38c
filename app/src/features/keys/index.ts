export { type Funds, callsLeft, fundsQuery, isLow, shortOf } from './funds';
export { type Key, keysQuery } from './query';
export { keysRoute, newKeyRoute } from './route';
