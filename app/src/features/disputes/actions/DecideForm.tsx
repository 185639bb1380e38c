// The resolver's decision: uphold with an amount, reject, or reject as abusive, always with written reasons; and what it will do.

import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../../chain/fee';
import { DisputeDecision } from '../../../generated/types/disputeDecision';
import { MoneyError, parseUsdc, usdcText } from '../../../shared/money';
import { Button } from '../../../shared/ui/Button';
import { Countdown } from '../../../shared/ui/Countdown';
import { TextField } from '../../../shared/ui/Field';
import { Notice } from '../../../shared/ui/Notice';
import { type Case, CaseError, checkDecision, readCase, upholdableFrom } from '../chain/case';
import { decideInstructions } from '../chain/instructions';
import { type SlashFacts, highestSlash, previewOf, slashProblem } from '../chain/slash';
import styles from '../Disputes.module.css';
import { filesProblem, textProblem } from '../evidence/draft';
import { EvidenceForm } from '../evidence/EvidenceForm';
import { storeEvidence } from '../evidence/store';
import { forgetDraft, useDraft } from '../evidence/useDraft';
import { words } from '../words';
import type { FormProps } from './form';

const t = words.decide;

const DECISIONS = {
    uphold: DisputeDecision.Upheld,
    reject: DisputeDecision.Rejected,
    abusive: DisputeDecision.Abusive,
} as const;

type Choice = keyof typeof DECISIONS;

/** `null` only without a listing; the form is not shown then. */
const factsOf = ({ agent, ...rest }: Case): SlashFacts | null => (agent === null ? null : { ...rest, agent });

export function DecideForm({ found, wallet, rpcUrl, transaction: { isBusy, send } }: FormProps) {
    const facts = factsOf(found);
    const [choice, setChoice] = useState<Choice | null>(null);
    const [amount, setAmount] = useState(() =>
        usdcText(facts === null ? 0n : lower(found.record.amount, highestSlash(facts))),
    );
    const key = `decision.${found.recordAddress}`;
    const [draft, setDraft] = useDraft(key);
    const [isChecked, setChecked] = useState(false);
    if (facts === null) return null;
    const isUpholdable = found.now >= upholdableFrom(found);
    const { slash, problem } = readSlash(amount, facts);
    const isUpheld = choice === 'uphold';
    const { bond } = found.dispute;
    const decide = (event: SubmitEvent): void => {
        event.preventDefault();
        setChecked(true);
        if (choice === null || (isUpheld && (slash === null || problem !== undefined))) return;
        if (textProblem(draft.text) !== undefined || filesProblem(draft.files) !== undefined) return;
        const decision = { decision: DECISIONS[choice], slash: isUpheld && slash !== null ? slash : 0n };
        const { recordAddress } = found;
        void send({
            build: async () => {
                const now = await readCase(rpcUrl, recordAddress);
                checkDecision(now, wallet, isUpheld);
                const [before, after] = [facts, factsOf(now)];
                const why = after === null ? words.noListing : slashProblem(decision.slash, after);
                if (why !== null) throw new CaseError(why);
                if (isUpheld && after !== null && !isSamePreview(decision.slash, before, after)) {
                    throw new CaseError(words.refusals.newCollateral);
                }
                return decideInstructions(now, wallet, decision, await storeEvidence(wallet, draft), rpcUrl);
            },
            after: () => forgetDraft(key),
        });
    };
    return (
        <form className={styles.form} onSubmit={decide} noValidate aria-labelledby="decide">
            <h2 id="decide">{t.title}</h2>
            <ChoiceFields
                found={found}
                choice={choice}
                onChange={setChoice}
                isUpholdable={isUpholdable}
                isMissing={isChecked && choice === null}
                isDisabled={isBusy}
            />
            {isUpheld && (
                <>
                    <TextField
                        label={t.slash}
                        hint={t.slashHint(found.record.amount, highestSlash(facts))}
                        error={problem}
                        inputMode="decimal"
                        value={amount}
                        disabled={isBusy}
                        onChange={(event) => setAmount(event.target.value)}
                    />
                    {slash !== null && problem === undefined && <Preview slash={slash} facts={facts} />}
                </>
            )}
            {choice === 'reject' && (
                <Notice title={words.preview}>
                    <p>{t.rejected(bond)}</p>
                </Notice>
            )}
            {choice === 'abusive' && (
                <Notice kind="warn" title={words.preview}>
                    <p>{t.abused(bond)}</p>
                </Notice>
            )}
            <EvidenceForm
                label={t.reasons}
                hint={t.reasonsHint}
                draft={draft}
                onChange={setDraft}
                isChecked={isChecked}
                isDisabled={isBusy}
            />
            <p className="small muted">{t.cost(feeText())}</p>
            <Button
                look={choice === null || choice === 'reject' ? 'primary' : 'danger'}
                type="submit"
                isDisabled={isBusy}
            >
                {isBusy ? t.busy : buttonText(choice, slash)}
            </Button>
        </form>
    );
}

function buttonText(choice: Choice | null, slash: bigint | null): string {
    if (choice === null) return t.sign;
    if (choice === 'reject') return t.signReject;
    if (choice === 'abusive') return t.signAbusive;
    return slash === null ? t.signUphold : t.signSlash(slash);
}

function readSlash(text: string, facts: SlashFacts): { slash: bigint | null; problem: string | undefined } {
    try {
        const slash = parseUsdc(text);
        return { slash, problem: slashProblem(slash, facts) ?? undefined };
    } catch (error) {
        return { slash: null, problem: error instanceof MoneyError ? error.message : String(error) };
    }
}

const isSamePreview = (slash: bigint, before: SlashFacts, after: SlashFacts): boolean => {
    const [one, other] = [previewOf(slash, before), previewOf(slash, after)];
    return one.collateralAfter === other.collateralAfter && one.isPausedByIt === other.isPausedByIt;
};

type ChoiceProps = {
    found: Case;
    choice: Choice | null;
    onChange: (choice: Choice) => void;
    isUpholdable: boolean;
    isMissing: boolean;
    isDisabled: boolean;
};

const ChoiceFields = ({ found, choice, onChange, isUpholdable, isMissing, isDisabled }: ChoiceProps) => (
    <fieldset
        className={styles.decision}
        disabled={isDisabled}
        aria-describedby={isMissing ? 'decision-missing' : undefined}
    >
        <legend>{t.who}</legend>
        <label className={styles.option}>
            <input
                type="radio"
                name="decision"
                checked={choice === 'uphold'}
                disabled={!isUpholdable}
                onChange={() => onChange('uphold')}
            />
            <span>{t.uphold}</span>
            <small>
                {isUpholdable ? (
                    t.upholdHint
                ) : (
                    <>
                        {t.stillAnswer} <Countdown to={upholdableFrom(found)} over={words.now} /> {t.orAnswered}
                    </>
                )}
            </small>
        </label>
        <label className={styles.option}>
            <input type="radio" name="decision" checked={choice === 'reject'} onChange={() => onChange('reject')} />
            <span>{t.reject}</span>
            <small>{t.rejectHint}</small>
        </label>
        <label className={styles.option}>
            <input type="radio" name="decision" checked={choice === 'abusive'} onChange={() => onChange('abusive')} />
            <span>{t.abusive}</span>
            <small>{t.abusiveHint(found.dispute.bond)}</small>
        </label>
        {isMissing && (
            <p id="decision-missing" role="alert" className={styles.missing}>
                {t.missing}
            </p>
        )}
    </fieldset>
);

const Preview = ({ slash, facts }: { slash: bigint; facts: SlashFacts }) => {
    const { compensation, penalty, collateralBefore, collateralAfter, required, isPausedByIt } = previewOf(
        slash,
        facts,
    );
    const rows: [string, bigint][] = [
        [t.toCaller, compensation],
        [t.penalty, penalty],
        [t.collateralNow, collateralBefore],
        [t.collateralAfter, collateralAfter],
        [t.required, required],
    ];
    return (
        <section className="stack" aria-label={words.preview}>
            <dl className={styles.preview}>
                {rows.map(([name, usdc]) => (
                    <PreviewRow key={name} name={name} usdc={usdc} />
                ))}
            </dl>
            <p aria-live="polite" className={isPausedByIt ? undefined : 'small muted'}>
                {slash === 0n
                    ? t.nothingBack
                    : isPausedByIt
                      ? t.pauses(required - collateralAfter)
                      : collateralAfter < required
                        ? t.inactive
                        : t.enough}
            </p>
        </section>
    );
};

const PreviewRow = ({ name, usdc }: { name: string; usdc: bigint }) => (
    <>
        <dt>{name}</dt>
        <dd className="number">{words.usdc(usdc)}</dd>
    </>
);

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other);
