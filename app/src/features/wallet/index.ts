export { SessionGate, WalletGate } from './Gate';
export { SignInAgain } from './SignIn';
export { TransactionState } from './TransactionState';
export { WalletButton } from './WalletButton';
