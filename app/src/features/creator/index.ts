export { walletHistoryQuery } from './earnings/history';
export { NEW_AGENT, managePath } from './paths';
export { type Wallet, type WalletAgent, ownListingsQuery, walletQuery } from './query';
export { isAboutDocument } from './reasons';
export { creatorRoute, ownAgentRoute } from './route';
