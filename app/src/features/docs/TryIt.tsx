// A form for one operation: the request as a command line, and sent from here.

import { type ChangeEvent, type SubmitEvent, useEffect, useMemo, useRef, useState } from 'react';

import { ApiError, asWallet, sendAsIs } from '../../shared/api/client';
import { short } from '../../shared/text/short';
import { UserBlock } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Badge } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { Copy } from '../../shared/ui/Copy';
import { Failure } from '../../shared/ui/Failure';
import { Select, TextArea, TextField } from '../../shared/ui/Field';
import { useSession } from '../../shared/wallet/useSession';
import { exampleOf } from '../agent';
import { type Credential, type Key, authorizationOf, credentialFor } from './credential';
import styles from './Docs.module.css';
import type { Operation, Parameter } from './reference';
import { type Draft, JSON_TYPE, type Written, curlOf, keyOf, laidOut, readStart, write } from './request';
import { formsOf, plainSchema } from './schema';
import { apiWords as words } from './apiWords';

const { request: w, answer: a } = words;

const READS = new Set(['GET', 'HEAD']);
const KEY = /^[!-~]+$/;

export type DetailsProps = { operation: Operation; document: unknown; apiKey: Key };

export function TryIt({ operation, document, apiKey }: DetailsProps) {
    const { session } = useSession();
    const [draft, setDraft] = useState<Draft>(() => startOf(operation, document));
    const credential = credentialFor(operation, apiKey.token, session?.wallet ?? null);
    const written = write(operation, draft, location.origin);
    const { state, send, stop } = useSending();
    const problems = [
        ...written.problems,
        ...(credential.kind === 'key' && !KEY.test(credential.token) ? [w.badKey] : []),
    ];
    const go = (): void => {
        if (problems.length === 0) send(written, credential);
    };
    // Enter in a field sends a request that only reads. Every other request needs a press of the button, next to what
    // it does.
    const isRead = READS.has(operation.method);
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        if (isRead) go();
    };
    const curl = (isShown: boolean): string => curlOf(written, authorizationOf(operation, credential, isShown));
    return (
        <form onSubmit={submit} noValidate className={`stack ${styles.form}`}>
            <div className={styles.fields}>
                {operation.parameters.map((parameter) => (
                    <ParameterField
                        key={keyOf(parameter)}
                        parameter={parameter}
                        document={document}
                        value={draft.values[keyOf(parameter)] ?? ''}
                        onChange={(value) =>
                            setDraft({ ...draft, values: { ...draft.values, [keyOf(parameter)]: value } })
                        }
                    />
                ))}
            </div>
            {written.body !== null && (
                <TextArea
                    label={w.body}
                    rows={Math.min(20, draft.body.split('\n').length + 1)}
                    spellCheck={false}
                    value={draft.body}
                    error={jsonProblem(draft.body)}
                    onChange={(event) => setDraft({ ...draft, body: event.target.value })}
                />
            )}
            <div className={styles.example}>
                <pre tabIndex={0} role="region" aria-label={w.command(`${operation.method} ${operation.path}`)}>
                    {visible(curl(apiKey.isShown))}
                </pre>
                <Copy text={curl(true)} what={w.commandCopy} />
            </div>
            {written.hasBytes ? (
                <p>{w.bytes}</p>
            ) : (
                <>
                    <p className="small">
                        <Effect operation={operation} /> {sentAs(operation, credential, apiKey.token)}
                    </p>
                    <div className="row">
                        <Button
                            type={isRead ? 'submit' : 'button'}
                            look={operation.method === 'DELETE' ? 'danger' : 'plain'}
                            isDisabled={problems.length > 0 || state.kind === 'sending'}
                            onPress={() => isRead || go()}
                        >
                            {state.kind === 'sending' ? w.sending : w.send}
                        </Button>
                        {state.kind === 'sending' && <Button onPress={stop}>{w.stop}</Button>}
                        {problems.length > 0 && <span className="small muted">{visible(problems.join(' '))}</span>}
                    </div>
                </>
            )}
            {state.kind === 'failed' && <Failure error={state.error} />}
            {state.kind === 'answered' && <Answered answer={state.answer} />}
        </form>
    );
}

/** Required parameters with their example, and the simplest body. */
function startOf({ parameters, body }: Operation, document: unknown): Draft {
    const values = Object.fromEntries(
        parameters.map((parameter) => [keyOf(parameter), parameter.required ? parameter.example : '']),
    );
    return {
        values,
        body: body?.type === JSON_TYPE ? JSON.stringify(exampleOf(formsOf(body.schema, document)[0]), null, 2) : '',
    };
}

function jsonProblem(text: string): string | undefined {
    try {
        JSON.parse(text);
        return undefined;
    } catch {
        return w.noJson;
    }
}

type ParameterFieldProps = {
    parameter: Parameter;
    document: unknown;
    value: string;
    onChange: (value: string) => void;
};

function ParameterField({ parameter, document, value, onChange }: ParameterFieldProps) {
    const { name, place, required, schema, example } = parameter;
    const { enum: choices, type, default: usual } = useMemo(() => plainSchema(schema, document), [schema, document]);
    const options = Array.isArray(choices)
        ? choices.map(String)
        : [type].flat()[0] === 'boolean'
          ? ['true', 'false']
          : [];
    const label = (required ? w.required : w.optional)(visible(name), place);
    if (options.length === 0) {
        const placeholder = visible(example || usualText(usual));
        const change = (event: ChangeEvent<HTMLInputElement>): void => onChange(event.target.value);
        return (
            <TextField
                label={label}
                autoComplete="off"
                spellCheck={false}
                placeholder={placeholder}
                value={value}
                onChange={change}
            />
        );
    }
    return (
        <Select label={label} value={value} onChange={(event) => onChange(event.target.value)}>
            <option value="">{w.notSent}</option>
            {options.map((option) => (
                <option key={option} value={option}>
                    {visible(option)}
                </option>
            ))}
        </Select>
    );
}

/** What a request does as soon as it is sent. An operation that can answer 402 takes a payment. */
function Effect({ operation: { method, answers } }: { operation: Operation }) {
    if (READS.has(method)) return null;
    const spends = answers.some(({ status }) => status === '402');
    return (
        <>
            <Badge kind="warn">{spends ? w.spends : w.changes}</Badge> {spends ? w.spendsText : w.changesText}
        </>
    );
}

function sentAs({ credentials, isOpen }: Operation, credential: Credential, token: string): string {
    if (credential.kind === 'key') return w.withKey;
    if (credential.kind === 'session') return w.withSession(short(credential.wallet));
    if (credentials.length === 0) return w.withNothing;
    const reason = token !== '' ? w.keyNotTaken : '';
    const way = credentials.includes('api_key') ? w.enterKey : w.signIn;
    return `${isOpen ? w.withNothing : w.refused(way)}${reason}`;
}

type Answered = {
    status: number;
    statusText: string;
    milliseconds: number;
    headers: [string, string][];
    text: string;
    isCut: boolean;
};
type State =
    | { kind: 'idle' }
    | { kind: 'sending' }
    | { kind: 'failed'; error: unknown }
    | { kind: 'answered'; answer: Answered };

function useSending() {
    const [state, setState] = useState<State>({ kind: 'idle' });
    const request = useRef<AbortController>(undefined);
    useEffect(() => () => request.current?.abort(), []);
    const send = (written: Written, credential: Credential): void => {
        const controller = new AbortController();
        request.current = controller;
        setState({ kind: 'sending' });
        const settle = (next: State): void => {
            if (!controller.signal.aborted) setState(next);
        };
        exchange(written, credential, controller.signal).then(
            (answer) => settle({ kind: 'answered', answer }),
            (error: unknown) => settle({ kind: 'failed', error }),
        );
    };
    const stop = (): void => {
        request.current?.abort();
        setState({
            kind: 'failed',
            error: new ApiError(0, 'stopped', w.stopped),
        });
    };
    return { state, send, stop };
}

const SHOWN_HEADERS = [
    'x-request-id',
    'x-indexed-slot',
    'content-type',
    'location',
    'retry-after',
    'ratelimit',
    'ratelimit-policy',
];
const SHOWN_BYTES = 64 * 1024;

async function exchange(
    { method, url, headers, body }: Written,
    credential: Credential,
    signal: AbortSignal,
): Promise<Answered> {
    const { credentials, headers: own } =
        credential.kind === 'session' ? asWallet(credential.wallet) : { credentials: 'omit' as const, headers: {} };
    const all = new Headers(own);
    for (const [name, value] of headers) all.set(name, value);
    if (credential.kind === 'key') all.set('Authorization', `Bearer ${credential.token}`);
    // Asks for a fresh answer instead of a cached one, and follows no redirect to another service.
    const request = new Request(url, {
        method,
        headers: all,
        body,
        credentials,
        signal,
        cache: 'no-store',
        redirect: 'error',
    });
    const started = performance.now();
    const answer = await sendAsIs(request);
    const { text, isCut } = await readStart(answer, SHOWN_BYTES);
    const isJson = (answer.headers.get('content-type') ?? '').includes('json');
    return {
        status: answer.status,
        statusText: answer.statusText,
        milliseconds: Math.round(performance.now() - started),
        headers: SHOWN_HEADERS.flatMap((name) =>
            answer.headers.has(name) ? [[name, answer.headers.get(name) ?? ''] as [string, string]] : [],
        ),
        text: isJson ? laidOut(text) : text,
        isCut,
    };
}

const Answered = ({ answer: { status, statusText, milliseconds, headers, text, isCut } }: { answer: Answered }) => (
    <section aria-label={a.title} className="stack">
        <p role="status">
            <Badge kind={status < 400 ? 'good' : 'bad'}>
                {status} {visible(statusText)}
            </Badge>{' '}
            {a.after(milliseconds)}
        </p>
        <dl className={styles.answers}>
            {headers.map(([name, value]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd className="mono">{visible(value.slice(0, 500))}</dd>
                </div>
            ))}
        </dl>
        {text === '' ? (
            <p className="muted">{a.noBody}</p>
        ) : (
            <div className={styles.answer} tabIndex={0} role="region" aria-label={a.body}>
                <UserBlock text={text} code />
            </div>
        )}
        {isCut && <p className="muted small">{a.cut}</p>}
    </section>
);

const usualText = (value: unknown): string =>
    value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
