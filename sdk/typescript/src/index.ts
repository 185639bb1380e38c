// Sell and buy calls of AI agents: `agent` answers them, `Client` pays for them.

export { type AgentOptions, type CallContext, type Handler, type Work, agent } from './agent.js';
export { type Check, type Claims, PROGRAM_ID } from './chain.js';
export {
    type Agent,
    type CallOptions,
    Client,
    type ClientOptions,
    type Event,
    type Execution,
    type Limits,
    type Result,
    type Started,
} from './client.js';
export { type KeyPair, type Signer, sessionKeyOf, signerOf, verifyStrictly } from './ed25519.js';
export {
    ApiError,
    ChainRefusedError,
    ConnectionError,
    CrtxError,
    type ErrorCode,
    NotVerifiableError,
    OutcomeUnknownError,
    PriceTooHighError,
    VerificationError,
} from './errors.js';
export type { components, operations, paths } from './generated/api.js';
export { baseUnits, usdcText } from './money.js';
export { type Begun, type CallName, type ReplayGuard, memoryGuard } from './replay.js';
export {
    type Opening,
    type Terms,
    callMessage,
    cidOf,
    executionIdOf,
    failureMessage,
    recordAddress,
    requestHash,
    resultHash,
    resultMessage,
    signatureBytes,
    signatureText,
    splitOf,
    termsHash,
} from './wire.js';
