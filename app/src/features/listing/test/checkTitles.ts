// What each check of a test looks at, in words. The service sends the names.

import type { Schemas } from '../../../shared/api/client';

export type CheckName = Schemas['CheckName'];

export const TITLES: { readonly [name in CheckName]: string } = {
    input_schema: 'The input schema is accepted and fits the example',
    reachable: 'The endpoint can be reached',
    tls: 'The certificate is valid',
    within_timeout: 'The answer comes in time',
    whole_answer: 'The answer arrives whole',
    content_encoding: 'The answer is not compressed',
    http_status: 'The HTTP status is right',
    content_type: 'The content type is JSON',
    json_shape: 'The answer is one JSON object',
    execution_id: 'The execution id is the one of the request',
    status: 'The example is completed',
    result_is_string: 'The result is a text',
    result_size: 'The result is not too large',
    result_hash_form: 'The hash has the right form',
    result_hash: 'The hash is the one of the result',
    signature_form: 'The signature has the right form',
    result_key: 'The signature is made with the result key',
    signature: 'The signature covers the hash',
    call_signature_form: 'The signature of the call has the right form',
    call_signature: 'The signature of the call covers call and hash',
    tokens_used: 'The number of tokens is in its limits',
    steps: 'The steps are in their limits',
    output_schema: 'The result fits the output schema',
    unicode: 'Results with other alphabets are signed correctly',
    crlf: 'Results with CR LF line ends are signed correctly',
    empty_result: 'Empty results are signed correctly',
    unknown_fields: 'Members that the agent does not know are ignored',
    repeated_id: 'A repeated call gets the same result',
    failure_form: 'A failure has the right form',
    failure_signature: 'A failure is signed correctly',
    parallel_calls: 'Four calls at once get their own answers',
};

/** A newer service may have more checks. */
export const titleOf = (name: string): string =>
    Object.hasOwn(TITLES, name) ? TITLES[name as CheckName] : name.replaceAll('_', ' ');
