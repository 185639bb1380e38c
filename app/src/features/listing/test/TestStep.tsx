// The step in which a creator's service is tested before it is listed.

import { Link } from '@tanstack/react-router';

import type { Schemas } from '../../../shared/api/client';
import { Notice } from '../../../shared/ui/Notice';
import { SessionGate } from '../../wallet';
import type { Problems } from '../form/fields';
import type { Listing } from '../form/rules';
import { openSteps } from '../steps';
import { EndpointTest, type Subject } from './EndpointTest';
import { type TestCall, knownCall } from './testCall';
import { words } from '../words';

export type TestStepProps = {
    /** `null`: something is not right yet. */
    listing: Listing | null;
    problems: Problems;
    call: TestCall | null;
    onCall: (call: TestCall) => void;
    onReport: (subject: string, report: Schemas['Report']) => void;
    isMain: boolean;
};

export function TestStep({ listing, problems, call, onCall, onReport, isMain }: TestStepProps) {
    if (listing === null) {
        const open = openSteps(problems);
        return (
            <Notice kind="warn" title={words.testStep.missing}>
                <p>{words.testStep.missingText}</p>
                <ul className="row">
                    {open.map((step) => (
                        <li key={step}>
                            <Link to="/creator/new" search={{ step }}>
                                {words.steps[step]}
                            </Link>
                        </li>
                    ))}
                </ul>
            </Notice>
        );
    }
    const subject = subjectOf(listing);
    return (
        <SessionGate why={words.testStep.whySignIn}>
            {(wallet) => (
                <EndpointTest
                    wallet={wallet}
                    subject={subject}
                    call={knownCall(call)}
                    onCall={onCall}
                    isMain={isMain}
                    onReport={(report) => onReport(JSON.stringify(subject), report)}
                />
            )}
        </SessionGate>
    );
}

export const subjectOf = ({ document, resultKey, binding, timeoutSeconds }: Listing): Subject => ({
    endpoint: document.endpoint,
    resultKey,
    binding,
    inputSchema: document.input_schema,
    outputSchema: document.output_schema,
    timeoutSeconds,
});

/** What a passed test was about: a change of it needs another test. */
export const subjectName = (listing: Listing): string => JSON.stringify(subjectOf(listing));
