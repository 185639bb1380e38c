// The request that somebody writes: what stands in the form, what is wrong with it, and its start as a call.

import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useMemo, useRef, useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { useWallet } from '../../shared/wallet/useWallet';
import { requestProblem } from './call/request';
import { putCall } from './call/stored';
import type { CallTerms } from './call/terms';
import { useCall, useReadyToRun } from './call/useCall';
import { type RequestDraft, rememberRequest, rememberedRequest } from './draftStore';
import { checkParameters } from './form/checking';
import type { Problem } from './form/draft';
import type { JsonObject } from './form/json';
import { parametersDraft, readParameters } from './form/parameters';
import { type Group, planOf } from './form/plan';

type Agent = Pick<Schemas['AgentResponse'], 'agent_id' | 'name' | 'input_schema'>;

export type Request = {
    readonly form: Group | null;
    readonly written: RequestDraft;
    readonly write: (changed: RequestDraft) => void;
    readonly taskProblem: string | null;
    readonly problems: readonly Problem[];
    readonly submit: (event: SubmitEvent<HTMLFormElement>) => Promise<void>;
    readonly isBusy: boolean;
    readonly isStarted: boolean;
    readonly error: unknown;
};

export function useRequest(agent: Agent, terms: CallTerms | undefined): Request {
    const { agent_id: agentId, input_schema: schema } = agent;
    const form = useMemo(() => planOf(schema), [schema]);
    const [written, setWritten] = useState(() => {
        const earlier = rememberedRequest(agentId, schema);
        return { task: earlier?.task ?? '', parameters: earlier?.parameters ?? parametersDraft(form) };
    });
    const [taskProblem, setTaskProblem] = useState<string | null>(null);
    const [problems, setProblems] = useState<readonly Problem[]>([]);
    const { start, check, ...submission } = useSubmission(agent, terms);
    const write = (changed: RequestDraft): void => {
        if (changed.task !== written.task) setTaskProblem(null);
        if (changed.parameters !== written.parameters) setProblems([]);
        setWritten(changed);
        rememberRequest(agentId, schema, changed);
    };
    const submit = async (event: SubmitEvent<HTMLFormElement>): Promise<void> => {
        event.preventDefault();
        const element = event.currentTarget;
        if (submission.isBusy) return;
        const { task } = written;
        const { parameters, problems: unread } = readParameters(form, written.parameters);
        const wrongTask = requestProblem({ task, parameters });
        const wrong = unread.length > 0 ? unread : await check(parameters);
        setTaskProblem(wrongTask);
        setProblems(wrong ?? []);
        if (wrongTask === null && wrong?.length === 0) start(task, parameters);
        else setTimeout(() => element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    };
    return { form, written, write, taskProblem, problems, submit, ...submission };
}

/** Checks the form and opens the page of the execution. A second press does nothing. */
function useSubmission({ agent_id: agentId, name: agentName, input_schema: schema }: Agent, terms?: CallTerms) {
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
            return await checkParameters(schema, parameters);
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
        const wallet = connection.account.address;
        try {
            putCall({ executionId, agentId, agentName, wallet, task, parameters, ...asked });
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
