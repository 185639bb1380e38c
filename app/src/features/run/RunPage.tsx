// The page on which someone writes a request to an agent and pays for it.

import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useMemo, useRef, useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { useWallet } from '../../shared/wallet/useWallet';
import { agentQuery } from '../agent';
import { requestProblem } from './call/request';
import { putCall } from './call/stored';
import { type CallTerms, callTermsQuery } from './call/terms';
import { useCall, useReadyToRun } from './call/useCall';
import { type RequestDraft, rememberRequest, rememberedRequest } from './draftStore';
import { checkParameters } from './form/checking';
import type { Problem } from './form/draft';
import type { JsonObject } from './form/json';
import { parametersDraft, readParameters } from './form/parameters';
import { ParametersForm } from './form/ParametersForm';
import { planOf } from './form/plan';
import { Summary } from './Summary';
import { TaskField } from './TaskField';
import { Unfinished } from './Unfinished';
import styles from './Run.module.css';
import { SELDOM_MS } from '../../shared/seldom';

const route = getRouteApi('/agents/$agentId/run');

export function RunPage() {
    const { agentId } = route.useParams();
    const { data: agent } = useSuspenseQuery({ ...agentQuery(agentId), refetchInterval: SELDOM_MS });
    const { data: network } = useQuery(networkQuery);
    const { data: terms, error, refetch } = useQuery(callTermsQuery(agentId, network));
    const earlier = useMemo(() => rememberedRequest(agentId, agent.input_schema), [agentId, agent.input_schema]);
    const form = useMemo(() => planOf(agent.input_schema), [agent.input_schema]);
    const [task, setTask] = useState(earlier?.task ?? '');
    const [draft, setDraft] = useState(() => earlier?.parameters ?? parametersDraft(form));
    const [taskProblem, setTaskProblem] = useState<string | null>(null);
    const [problems, setProblems] = useState<readonly Problem[]>([]);
    const submission = useSubmission(agent, terms);
    const formElement = useRef<HTMLFormElement>(null);
    const write = (request: RequestDraft): void => {
        setTask(request.task);
        setDraft(request.parameters);
        rememberRequest(agentId, agent.input_schema, request);
    };

    const submit = async (event: SubmitEvent): Promise<void> => {
        event.preventDefault();
        if (submission.isBusy) return;
        const { parameters, problems: unread } = readParameters(form, draft);
        const wrongTask = requestProblem({ task, parameters });
        const wrong = unread.length > 0 ? unread : await submission.check(parameters);
        setTaskProblem(wrongTask);
        setProblems(wrong ?? []);
        if (wrongTask === null && wrong?.length === 0) submission.start(task, parameters);
        else setTimeout(() => formElement.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    };
    return (
        <Page
            title={`Run ${visible(agent.name)}`}
            heading={
                <>
                    Run <UserText text={agent.name} />
                </>
            }
        >
            <p className="muted">
                <UserText text={agent.tagline} />{' '}
                <Link to="/agents/$agentId" params={{ agentId }}>
                    About this agent
                </Link>
            </p>
            {!submission.isStarted && <Unfinished agentId={agentId} />}
            <form ref={formElement} className={styles.columns} onSubmit={(event) => void submit(event)} noValidate>
                <div className={styles.inputs}>
                    <TaskField
                        text={task}
                        onChange={(text) => (write({ task: text, parameters: draft }), setTaskProblem(null))}
                        problem={taskProblem}
                    />
                    <ParametersForm
                        form={form}
                        draft={draft}
                        onChange={(next) => (write({ task, parameters: next }), setProblems([]))}
                        problems={problems}
                    />
                    <Elsewhere problems={problems} isForm={draft.as === 'fields'} />
                </div>
                <aside className={styles.side} aria-label="Cost and payment">
                    {error && <Failure error={error} onRetry={() => void refetch()} />}
                    {network?.rpc_url === null && (
                        <Notice kind="warn" title="No Solana node">
                            <p>
                                This service names no node for browsers. Call the agent with an API key or with the
                                command line.
                            </p>
                        </Notice>
                    )}
                    <Summary
                        terms={terms}
                        network={network}
                        shownTermsHash={agent.terms_hash}
                        isBusy={submission.isBusy}
                    />
                    {submission.error !== null && <Failure error={submission.error} />}
                </aside>
            </form>
        </Page>
    );
}

/** Problems that belong to no field of the form. */
function Elsewhere({ problems, isForm }: { problems: readonly Problem[]; isForm: boolean }) {
    if (!isForm || problems.length === 0) return null;
    return (
        <div role="alert">
            <Notice kind="bad" title="The parameters do not fit yet">
                <ul className="stack">
                    {problems.map(({ at, message }) => (
                        <li key={`${at} ${message}`}>
                            {at !== '' && (
                                <>
                                    <UserText text={at.slice(1).replaceAll('/', ' › ').slice(0, 200)} />:{' '}
                                </>
                            )}
                            <UserText text={message} />
                        </li>
                    ))}
                </ul>
            </Notice>
        </div>
    );
}

/** Submits the checked form and opens the page of the execution. A second press does nothing. */
function useSubmission(agent: { agent_id: string; name: string; input_schema: unknown }, terms: CallTerms | undefined) {
    const { connection } = useWallet();
    const { run } = useCall(null);
    useReadyToRun();
    const navigate = useNavigate();
    const started = useRef(false);
    const [isStarted, setStarted] = useState(false);
    const [isBusy, setBusy] = useState(false);
    const [error, setError] = useState<unknown>(null);

    const check = async (parameters: JsonObject): Promise<Problem[] | null> => {
        setBusy(true);
        setError(null);
        try {
            return await checkParameters(agent.input_schema, parameters);
        } catch (problem) {
            setError(problem);
            return null;
        } finally {
            setBusy(false);
        }
    };
    const start = (task: string, parameters: JsonObject): void => {
        if (connection === null || terms === undefined || started.current) return;
        started.current = true;
        const executionId = crypto.randomUUID();
        const { price, termsHash, genesisHash } = terms;
        const asked = { price: price.toString(), termsHash, genesisHash, createdAt: new Date().toISOString() };
        const { agent_id: agentId, name: agentName } = agent;
        try {
            putCall({
                executionId,
                agentId,
                agentName,
                wallet: connection.account.address,
                task,
                parameters,
                ...asked,
            });
        } catch (problem) {
            started.current = false;
            return setError(problem);
        }
        setStarted(true);
        run(executionId, true, true);
        void navigate({ to: '/executions/$executionId', params: { executionId } });
    };
    return { isBusy: isBusy || isStarted, isStarted, error, check, start };
}
