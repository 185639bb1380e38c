// Recognises a `SendError` without its class, which is loaded with the code that sends.

import type { SendError } from '../../chain/send';

export const isSendError = (error: unknown): error is SendError =>
    error instanceof Error && 'kind' in error && 'signature' in error;
