// The form of a call and the same call as code, side by side, below the price that stays in sight.

import { useDeferredValue, useMemo } from 'react';

import { CostDetails, RequestForm, Unfinished, readParameters, usePayment, useRequest } from '../run';
import { CodeSamples } from './CodeSamples';
import { type Json, exampleOf } from './example';
import styles from './Playground.module.css';
import { PriceBar } from './PriceBar';
import type { Agent } from './query';
import { words } from './words';

const FORM = 'request';

export function Playground({ agent }: { agent: Agent }) {
    const payment = usePayment(agent.agent_id, agent.terms_hash);
    const request = useRequest(agent, payment.terms);
    return (
        <>
            <PriceBar agent={agent} payment={payment} form={FORM} isBusy={request.isBusy} />
            {!request.isStarted && <Unfinished agentId={agent.agent_id} />}
            <div className={styles.sides}>
                <section aria-labelledby="run" className={styles.run}>
                    <h2 id="run" className="visually-hidden">
                        {words.run}
                    </h2>
                    <RequestForm id={FORM} request={request} />
                </section>
                <div className={styles.cost}>
                    <CostDetails payment={payment} />
                </div>
                <Code agent={agent} request={request} />
            </div>
        </>
    );
}

/** Follows the form a moment later where a request is large, so that typing never waits for it. */
function Code({ agent, request: { form, written } }: { agent: Agent; request: ReturnType<typeof useRequest> }) {
    const { task, parameters: draft } = useDeferredValue(written);
    const parameters = useMemo(() => {
        const read = readParameters(form, draft).parameters as Record<string, Json>;
        // What is required and not written yet has an example, so that the code is whole.
        return { ...exampleOf(agent.input_schema), ...read };
    }, [agent.input_schema, form, draft]);
    return (
        <div className={styles.code}>
            <CodeSamples
                agentId={agent.agent_id}
                task={task.trim() === '' ? words.taskInCode : task}
                parameters={parameters}
            />
        </div>
    );
}
