// What each check of a test looks at, in words. The service sends the names.

import type { Schemas } from '../../../shared/api/client';
import { words } from '../words';

export type CheckName = Schemas['CheckName'];

export const TITLES: { readonly [name in CheckName]: string } = {
    input_schema: words.checkTitles.schema,
    reachable: words.checkTitles.reached,
    tls: words.checkTitles.certificate,
    within_timeout: words.checkTitles.inTime,
    whole_answer: words.checkTitles.whole,
    content_encoding: words.checkTitles.uncompressed,
    http_status: words.checkTitles.status,
    content_type: words.checkTitles.contentType,
    json_shape: words.checkTitles.object,
    execution_id: words.checkTitles.executionId,
    status: words.checkTitles.completed,
    result_is_string: words.checkTitles.result,
    result_size: words.checkTitles.resultSize,
    result_hash_form: words.checkTitles.hashForm,
    result_hash: words.checkTitles.hash,
    signature_form: words.checkTitles.signatureForm,
    result_key: words.checkTitles.signatureKey,
    signature: words.checkTitles.signature,
    call_signature_form: words.checkTitles.callSignatureForm,
    call_signature: words.checkTitles.callSignature,
    tokens_used: words.checkTitles.tokens,
    steps: words.checkTitles.steps,
    output_schema: words.checkTitles.outputSchema,
    unicode: words.checkTitles.alphabets,
    crlf: words.checkTitles.lineEnds,
    empty_result: words.checkTitles.emptyResult,
    unknown_fields: words.checkTitles.unknownMembers,
    repeated_id: words.checkTitles.repeated,
    failure_form: words.checkTitles.failureForm,
    failure_signature: words.checkTitles.failureSignature,
    parallel_calls: words.checkTitles.parallel,
};

/** A newer service may have more checks. */
export const titleOf = (name: string): string =>
    Object.hasOwn(TITLES, name) ? TITLES[name as CheckName] : name.replaceAll('_', ' ');
