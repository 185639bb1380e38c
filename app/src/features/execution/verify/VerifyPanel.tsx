// Verify: repeats every check in this browser and shows each with what it expected and what it found.

import { useState } from 'react';

import { AGENT_MARKETPLACE_PROGRAM_ADDRESS } from '../../../generated/programs';
import { UserText } from '../../../shared/text/UserText';
import { Button } from '../../../shared/ui/Button';
import { Failure } from '../../../shared/ui/Failure';
import { Notice } from '../../../shared/ui/Notice';
import { type Check, isRefund, runChecks } from './checks';
import { type Claims, collect } from './evidence';
import styles from './Verify.module.css';

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
            const error = new Error(
                'Nothing was checked: the Solana node does not answer. Check the connection, then verify again.',
            );
            setState({ isBusy: false, report: null, error });
        }
    };
    return (
        <section className="stack" aria-labelledby="verify">
            <h2 id="verify">Verify</h2>
            <p>
                Your browser hashes the content, verifies the signature and reads record and transactions from Solana
                itself. It does not believe what this service says.
            </p>
            <div>
                <Button onPress={() => void verify()}>
                    {state.isBusy ? 'Verifying …' : state.report === null ? 'Verify now' : 'Verify again'}
                </Button>
            </div>
            <div role="status">{state.report !== null && <Verdict {...state.report} />}</div>
            {state.error !== null && <Failure error={state.error} />}
            {state.report !== null && <Checks checks={state.report.checks} />}
            <Trusted rpcUrl={rpcUrl} executionId={execution.execution_id} />
        </section>
    );
}

const Verdict = ({ checks, isRefund: wasRefunded }: Report) => {
    const failed = checks.filter(({ ok }) => !ok).length;
    if (failed > 0) {
        return (
            <Notice kind="bad" title="NOT verified">
                <p>
                    {failed} of {checks.length} checks failed. Each says what it expected and what it found.
                </p>
            </Notice>
        );
    }
    return (
        <Notice kind="good" title="Verified">
            <p>
                {wasRefunded
                    ? `All ${checks.length} checks passed: there is no result, and all of the money went back.`
                    : `All ${checks.length} checks passed.`}
            </p>
        </Notice>
    );
};

const Checks = ({ checks }: { checks: readonly Check[] }) => (
    <ol className={styles.checks}>
        {checks.map(({ name, title, ok, expected, found }) => (
            <li key={name} className={ok ? styles.passed : styles.failed}>
                <h3>
                    <span aria-hidden="true">{ok ? '✓' : '✗'}</span> {title}{' '}
                    <span className={styles.word}>{ok ? 'passed' : 'FAILED'}</span>
                </h3>
                <dl>
                    <dt>Expected</dt>
                    <dd>
                        <UserText text={expected} />
                    </dd>
                    <dt>Found</dt>
                    <dd>
                        <UserText text={found} />
                    </dd>
                </dl>
            </li>
        ))}
    </ol>
);

const Trusted = ({ rpcUrl, executionId }: { rpcUrl: string; executionId: string }) => (
    <details className={styles.trusted}>
        <summary>What you trust when you verify here</summary>
        <ul>
            <li>
                The Solana node <span className="mono">{rpcUrl}</span>, which this service names. A node could lie about
                the chain.
            </li>
            <li>
                The address of the program, <span className="mono">{AGENT_MARKETPLACE_PROGRAM_ADDRESS}</span>, which is
                built into this page.
            </li>
            <li>The code of this page, which this service sends, and the Ed25519 and SHA-256 of your browser.</li>
            <li>
                To trust none of these, use a node and a program of your own:{' '}
                <code>crtx verify {executionId} --rpc-url https://…</code>
            </li>
        </ul>
    </details>
);
