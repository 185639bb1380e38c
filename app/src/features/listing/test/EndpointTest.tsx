// Tests a creator's service as the marketplace calls it, without any transaction: the requests to send, the run that
// can be stopped, and the report.

import { useEffect, useMemo, useRef, useState } from 'react';

import { type Schemas, api, asWallet, body } from '../../../shared/api/client';
import { Button } from '../../../shared/ui/Button';
import { Checkbox, TextArea } from '../../../shared/ui/Field';
import { Failure } from '../../../shared/ui/Failure';
import {
    JsonError,
    type JsonObject,
    type ParametersDraft,
    ParametersForm,
    type Problem,
    checkParameters,
    isObject,
    parametersDraft,
    planOf,
    readJson,
    readParameters,
} from '../../run';
import { Checks, Verdict } from './Report';
import { type TestCall, taskProblem } from './testCall';
import { words } from '../words';

/** What is tested; it need not be listed yet. */
export type Subject = {
    readonly endpoint: string;
    readonly resultKey: string;
    readonly binding: boolean;
    readonly inputSchema: JsonObject;
    readonly outputSchema: JsonObject;
    readonly timeoutSeconds: number;
};

export type EndpointTestProps = {
    wallet: string;
    subject: Subject;
    call: TestCall;
    onCall: (call: TestCall) => void;
    /** Whether the button leads on. */
    isMain?: boolean;
    onReport?: (report: Schemas['Report']) => void;
};

type Run =
    | { readonly kind: 'idle' }
    | { readonly kind: 'running'; readonly since: number }
    | { readonly kind: 'done'; readonly report: Schemas['Report']; readonly subject: Subject }
    | { readonly kind: 'failed'; readonly error: unknown };

export function EndpointTest({ wallet, subject, call, onCall, isMain = false, onReport }: EndpointTestProps) {
    const form = useMemo(() => planOf(subject.inputSchema), [subject.inputSchema]);
    const [draft, setDraft] = useState(() => draftOf(form, call.parameters));
    const [problems, setProblems] = useState<readonly Problem[]>([]);
    const [wrong, setWrong] = useState<{ task?: string; failing?: string; failingParameters?: string }>({});
    const { run, start, stop } = useTestRun(wallet, onReport);

    const change = (next: ParametersDraft): void => {
        setDraft(next);
        setProblems([]);
        onCall({ ...call, parameters: readParameters(form, next).parameters });
    };
    const press = async (): Promise<void> => {
        if (run.kind === 'running') return;
        const { parameters, problems: unread } = readParameters(form, draft);
        const failing = readFailing(call.failing);
        const found = { ...wordsFor('task', taskProblem(call.task)), ...failing.problems };
        setWrong(found);
        const unfit =
            unread.length > 0 ? unread : await checkParameters(subject.inputSchema, parameters).catch(() => []);
        setProblems(unfit);
        if (Object.keys(found).length > 0 || unfit.length > 0) return;
        await start(subject, call.task, parameters, failing.request);
    };
    return (
        <div className="stack">
            <TextArea
                label={words.endpointTest.task}
                hint={words.endpointTest.taskHint}
                error={wrong.task}
                value={call.task}
                onChange={({ target }) => (onCall({ ...call, task: target.value }), setWrong({}))}
                rows={3}
            />
            <ParametersForm form={form} draft={draft} onChange={change} problems={problems} />
            <Failing call={call} onCall={(next) => (onCall(next), setWrong({}))} wrong={wrong} />
            <div className="row">
                <Button
                    look={isMain ? 'primary' : 'plain'}
                    onPress={() => void press()}
                    isDisabled={run.kind === 'running'}
                >
                    {run.kind === 'running'
                        ? words.endpointTest.testing
                        : run.kind === 'done'
                          ? words.endpointTest.again
                          : words.endpointTest.test}
                </Button>
                {run.kind === 'running' && <Button onPress={stop}>{words.endpointTest.stop}</Button>}
            </div>
            <div role="status" className="stack">
                {run.kind === 'running' && <Running since={run.since} timeoutSeconds={subject.timeoutSeconds} />}
                {run.kind === 'done' && (
                    <>
                        <h2>{words.endpointTest.report}</h2>
                        {JSON.stringify(run.subject) !== JSON.stringify(subject) && (
                            <p>{words.endpointTest.outdated}</p>
                        )}
                        <Verdict report={run.report} />
                    </>
                )}
            </div>
            {run.kind === 'failed' && <Failure error={run.error} />}
            {run.kind === 'done' && <Checks checks={run.report.checks} />}
        </div>
    );
}

/** Nothing written yet: the form begins with what the schema suggests. */
const draftOf = (form: ReturnType<typeof planOf>, written: JsonObject): ParametersDraft =>
    parametersDraft(form, Object.keys(written).length === 0 ? undefined : written);

/** At most this long, as the service promises. */
const longest = (timeoutSeconds: number): number => Math.min(8 * timeoutSeconds + 10, 300);

function Running({ since, timeoutSeconds }: { since: number; timeoutSeconds: number }) {
    const [now, setNow] = useState(since);
    useEffect(() => {
        const timer = setInterval(() => setNow(Date.now()), 1_000);
        return () => clearInterval(timer);
    }, []);
    return (
        <p>
            {words.endpointTest.limits(longest(timeoutSeconds))}{' '}
            <span className="number muted" aria-hidden="true">
                {Math.max(0, Math.floor((now - since) / 1_000))} s
            </span>
        </p>
    );
}

type FailingProps = {
    call: TestCall;
    onCall: (call: TestCall) => void;
    wrong: { failing?: string; failingParameters?: string };
};

/** The request that must fail: without one, the form of a failure is not tested. */
const Failing = ({ call, onCall, wrong }: FailingProps) => (
    <>
        <Checkbox
            label={words.endpointTest.withRefusal}
            checked={call.failing !== null}
            onChange={({ target }) =>
                onCall({ ...call, failing: target.checked ? { task: '', parameters: '{}' } : null })
            }
        />
        {call.failing !== null && (
            <>
                <TextArea
                    label={words.endpointTest.refusalTask}
                    error={wrong.failing}
                    value={call.failing.task}
                    onChange={({ target }) =>
                        onCall({
                            ...call,
                            failing: { task: target.value, parameters: call.failing?.parameters ?? '{}' },
                        })
                    }
                    rows={2}
                />
                <TextArea
                    label={words.endpointTest.refusalInput}
                    error={wrong.failingParameters}
                    value={call.failing.parameters}
                    onChange={({ target }) =>
                        onCall({ ...call, failing: { task: call.failing?.task ?? '', parameters: target.value } })
                    }
                    rows={2}
                    dir="ltr"
                    spellCheck={false}
                    style={{ fontFamily: 'var(--mono)', fontSize: '0.875em' }}
                />
            </>
        )}
    </>
);

type FailingRequest = { readonly task: string; readonly parameters: JsonObject };

type FailingProblems = { failing?: string; failingParameters?: string };

function readFailing(failing: TestCall['failing']): { request: FailingRequest | null; problems: FailingProblems } {
    if (failing === null) return { request: null, problems: {} };
    const problems = wordsFor('failing', failing.task.trim() === '' ? words.endpointTest.noRefusalTask : null);
    try {
        const parameters = readJson(failing.parameters.trim() === '' ? '{}' : failing.parameters);
        if (!isObject(parameters)) throw new JsonError(words.endpointTest.badInput);
        return { request: { task: failing.task, parameters }, problems };
    } catch (error) {
        if (!(error instanceof JsonError)) throw error;
        return { request: null, problems: { ...problems, failingParameters: error.message } };
    }
}

const wordsFor = <Name extends string>(name: Name, problem: string | null): { [name in Name]?: string } =>
    (problem === null ? {} : { [name]: problem }) as { [name in Name]?: string };

/** One test at a time; leaving the page ends it. */
function useTestRun(wallet: string, onReport: EndpointTestProps['onReport']) {
    const [run, setRun] = useState<Run>({ kind: 'idle' });
    const ending = useRef<AbortController | null>(null);
    useEffect(() => () => ending.current?.abort(), []);
    const start = async (
        subject: Subject,
        task: string,
        parameters: JsonObject,
        failing: FailingRequest | null,
    ): Promise<void> => {
        const controller = new AbortController();
        ending.current = controller;
        setRun({ kind: 'running', since: Date.now() });
        try {
            const request = {
                ...asWallet(wallet),
                body: bodyOf(subject, task, parameters, failing),
                signal: controller.signal,
            };
            const report = await body(api.POST('/v1/agent-tests', request));
            if (controller.signal.aborted) return;
            setRun({ kind: 'done', report, subject });
            onReport?.(report);
        } catch (error) {
            if (!controller.signal.aborted) setRun({ kind: 'failed', error });
        }
    };
    const stop = (): void => {
        ending.current?.abort();
        setRun({ kind: 'idle' });
    };
    return { run, start, stop };
}

/** The generated type of free JSON is an empty object. */
type FreeJson = Record<string, never>;

function bodyOf(
    subject: Subject,
    task: string,
    parameters: JsonObject,
    failing: FailingRequest | null,
): Schemas['AgentTestBody'] {
    return {
        endpoint: subject.endpoint,
        result_key: subject.resultKey,
        binding: subject.binding,
        input_schema: subject.inputSchema as FreeJson,
        output_schema: subject.outputSchema as FreeJson,
        timeout_seconds: subject.timeoutSeconds,
        task,
        parameters: parameters as FreeJson,
        ...(failing !== null && { failing: { task: failing.task, parameters: failing.parameters as FreeJson } }),
    };
}
