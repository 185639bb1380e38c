// What each check of a test looks at, in words. The service sends the names.

import type { Schemas } from '../../../shared/api/client';
import { words } from '../words';

export type CheckName = Schemas['CheckName'];

export const TITLES: { readonly [name in CheckName]: string } = {
    input_schema: words.checkTitles.theInputSchemaIsAcceptedAnd,
    reachable: words.checkTitles.theEndpointCanBeReached,
    tls: words.checkTitles.theCertificateIsValid,
    within_timeout: words.checkTitles.theAnswerComesInTime,
    whole_answer: words.checkTitles.theAnswerArrivesWhole,
    content_encoding: words.checkTitles.theAnswerIsNotCompressed,
    http_status: words.checkTitles.theHttpStatusIsRight,
    content_type: words.checkTitles.theContentTypeIsJson,
    json_shape: words.checkTitles.theAnswerIsOneJsonObject,
    execution_id: words.checkTitles.theExecutionIdIsTheOne,
    status: words.checkTitles.theExampleIsCompleted,
    result_is_string: words.checkTitles.theResultIsAText,
    result_size: words.checkTitles.theResultIsNotTooLarge,
    result_hash_form: words.checkTitles.theHashHasTheRightForm,
    result_hash: words.checkTitles.theHashIsTheOneOf,
    signature_form: words.checkTitles.theSignatureHasTheRightForm,
    result_key: words.checkTitles.theSignatureIsMadeWithThe,
    signature: words.checkTitles.theSignatureCoversTheHash,
    call_signature_form: words.checkTitles.theSignatureOfTheCallHas,
    call_signature: words.checkTitles.theSignatureOfTheCallCovers,
    tokens_used: words.checkTitles.theNumberOfTokensIsIn,
    steps: words.checkTitles.theStepsAreInTheirLimits,
    output_schema: words.checkTitles.theResultFitsTheOutputSchema,
    unicode: words.checkTitles.resultsWithOtherAlphabetsAreSigned,
    crlf: words.checkTitles.resultsWithCrLfLineEnds,
    empty_result: words.checkTitles.emptyResultsAreSignedCorrectly,
    unknown_fields: words.checkTitles.membersThatTheAgentDoesNot,
    repeated_id: words.checkTitles.aRepeatedCallGetsTheSame,
    failure_form: words.checkTitles.aFailureHasTheRightForm,
    failure_signature: words.checkTitles.aFailureIsSignedCorrectly,
    parallel_calls: words.checkTitles.fourCallsAtOnceGetTheir,
};

/** A newer service may have more checks. */
export const titleOf = (name: string): string =>
    Object.hasOwn(TITLES, name) ? TITLES[name as CheckName] : name.replaceAll('_', ' ');
