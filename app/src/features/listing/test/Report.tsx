// The report of a test: the verdict, and every check with what it expected, what it received and how to mend it.

import { UserBlock, UserText } from '../../../shared/text/UserText';
import type { Schemas } from '../../../shared/api/client';
import { formatMs, plural } from '../../../shared/figures';
import { Checklist, ChecklistItem } from '../../../shared/ui/Checklist';
import { Notice } from '../../../shared/ui/Notice';
import { titleOf } from './checkTitles';
import styles from './Report.module.css';
import { words } from '../words';

type Check = Schemas['Check'];

export function Verdict({ report }: { report: Schemas['Report'] }) {
    const count = (passed: boolean | null): number =>
        report.checks.filter((check) => (check.passed ?? null) === passed).length;
    const [passed, failed, skipped] = [count(true), count(false), count(null)];
    const answer = report.answer_ms ?? null;
    return (
        <Notice
            kind={report.passed ? 'good' : 'bad'}
            title={report.passed ? words.report.passed : words.report.failed(plural(failed, 'check'))}
        >
            <p className="number">
                {words.report.counts(
                    passed,
                    failed,
                    skipped,
                    plural(report.requests, 'request'),
                    formatMs(report.duration_ms),
                )}
                {answer === null ? words.report.noFirst : words.report.first(formatMs(answer))}
            </p>
            {!report.passed && <p>{words.report.failedText}</p>}
        </Notice>
    );
}

/** In the order of the report: later checks build on earlier ones. */
export const Checks = ({ checks }: { checks: readonly Check[] }) => (
    <Checklist label={words.report.checks} isFramed>
        {checks.map((check) => {
            const { state, word } = STATES[kindOf(check)];
            return (
                <ChecklistItem key={check.name} title={titleOf(check.name)} state={state} word={word} isWordShown>
                    {check.skipped != null ? (
                        <p className="small muted">
                            <UserText text={check.skipped} />
                        </p>
                    ) : (
                        <Details check={check} />
                    )}
                </ChecklistItem>
            );
        })}
    </Checklist>
);

const Details = ({ check: { expected, received, fix } }: { check: Check }) => (
    <dl className={styles.details}>
        <dt>{words.report.expected}</dt>
        <dd>
            <UserText text={expected} />
        </dd>
        {received != null && (
            <>
                <dt>{words.report.received}</dt>
                <dd>
                    <UserBlock text={received} code />
                </dd>
            </>
        )}
        {fix != null && (
            <>
                <dt>{words.report.fix}</dt>
                <dd className={styles.fix}>
                    <UserText text={fix} />
                </dd>
            </>
        )}
    </dl>
);

type Kind = 'passed' | 'failed' | 'skipped';
const kindOf = ({ passed }: Check): Kind => (passed === true ? 'passed' : passed === false ? 'failed' : 'skipped');
const STATES = {
    passed: { state: 'done', word: 'passed' },
    failed: { state: 'failed', word: 'FAILED' },
    skipped: { state: 'skipped', word: 'skipped' },
} as const;
