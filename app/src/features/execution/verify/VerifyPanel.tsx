// Verify: repeats every check in this browser and shows each with what it expected and what it found.

import { useState } from 'react';

import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../../../generated/programs';
import { Button } from '../../../shared/ui/Button';
import { Failure } from '../../../shared/ui/Failure';
import { Notice } from '../../../shared/ui/Notice';
import { words } from '../words';
import { CheckList } from './CheckList';
import { type Check, isRefund, runChecks } from './checks';
import { type Claims, collect } from './evidence';
import styles from './Verify.module.css';

const w = words.verify;

export type VerifyPanelProps = { execution: Claims; rpcUrl: string };

type Report = { readonly checks: readonly Check[]; readonly isRefund: boolean };

export default function VerifyPanel({ execution, rpcUrl }: VerifyPanelProps) {
    const [state, setState] = useState<{ isBusy: boolean; report: Report | null; error: unknown }>({
        isBusy: false,
        report: null,
        error: null,
    });
    const verify = async (): Promise<void> => {
        if (state.isBusy) return;
        setState({ isBusy: true, report: null, error: null });
        try {
            const evidence = await collect(execution, rpcUrl);
            const checks = await runChecks(evidence);
            setState({ isBusy: false, report: { checks, isRefund: isRefund(evidence) }, error: null });
        } catch {
            setState({ isBusy: false, report: null, error: new Error(w.noNode) });
        }
    };
    return (
        <section className="stack" aria-labelledby="verify">
            <h2 id="verify">{w.title}</h2>
            <p>{w.about}</p>
            <div>
                <Button onPress={() => void verify()}>
                    {state.isBusy ? w.busy : state.report === null ? w.start : w.again}
                </Button>
            </div>
            <div role="status">{state.report !== null && <Verdict {...state.report} />}</div>
            {state.error !== null && <Failure error={state.error} />}
            {state.report !== null && <CheckList checks={state.report.checks} />}
            <Trusted rpcUrl={rpcUrl} executionId={execution.execution_id} />
        </section>
    );
}

const Verdict = ({ checks, isRefund: wasRefunded }: Report) => {
    const failed = checks.filter(({ ok }) => !ok).length;
    if (failed > 0) {
        return (
            <Notice kind="bad" title={w.failed}>
                <p>{w.someFailed(failed, checks.length)}</p>
            </Notice>
        );
    }
    return (
        <Notice kind="good" title={w.passed}>
            <p>{(wasRefunded ? w.allPassedRefund : w.allPassed)(checks.length)}</p>
        </Notice>
    );
};

const Trusted = ({ rpcUrl, executionId }: { rpcUrl: string; executionId: string }) => (
    <details className={styles.trusted}>
        <summary>{w.trust}</summary>
        <ul>
            <li>
                {w.trustNode} <span className="mono">{rpcUrl}</span>
            </li>
            <li>
                {w.trustProgram} <span className="mono">{AGENT_MARKETPLACE_PROGRAM_ADDRESS}</span>
            </li>
            <li>{w.trustCode}</li>
            <li>
                {w.trustNone} <code>crtx verify {executionId} --rpc-url https://…</code>
            </li>
        </ul>
    </details>
);
