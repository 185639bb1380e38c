// The resolver's decision: uphold with an amount, reject, or reject as abusive, always with written reasons; and what it will do.

import { type SubmitEvent, useState } from 'react';

import { feeText } from '../../../chain/fee';
import { DisputeDecision } from '../../../generated/types/disputeDecision';
import { MoneyError, formatUsdc, parseUsdc, usdcText } from '../../../shared/money';
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
import type { FormProps } from './form';

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
    const bond = formatUsdc(found.dispute.bond);
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
                const why =
                    after === null ? 'The listing of the agent is closed.' : slashProblem(decision.slash, after);
                if (why !== null) throw new CaseError(why);
                if (isUpheld && after !== null && !isSamePreview(decision.slash, before, after)) {
                    throw new CaseError(
                        'The collateral of the agent has just changed. Look at the preview again, then decide.',
                    );
                }
                return decideInstructions(now, wallet, decision, await storeEvidence(wallet, draft), rpcUrl);
            },
            after: () => forgetDraft(key),
        });
    };
    return (
        <form className={styles.form} onSubmit={decide} noValidate aria-labelledby="decide">
            <h2 id="decide">Decide</h2>
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
                        label="Take from the collateral, in USDC"
                        hint={`What was paid, ${formatUsdc(found.record.amount)} USDC, goes to the caller first. More is a penalty for the insurance. At most ${formatUsdc(highestSlash(facts))}.`}
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
                <Notice title="What happens">
                    <p>
                        The execution stays completed, and the creator keeps the price and the collateral. The caller
                        gets the bond of {bond} USDC back.
                    </p>
                </Notice>
            )}
            {choice === 'abusive' && (
                <Notice kind="warn" title="What happens">
                    <p>
                        The execution stays completed, and the creator keeps the price and the collateral. The creator
                        also gets the caller&rsquo;s bond of {bond} USDC.
                    </p>
                </Notice>
            )}
            <EvidenceForm
                label="Reasons"
                hint="Both sides read them. They are public, and their hash stands on the chain with the decision."
                draft={draft}
                onChange={setDraft}
                isChecked={isChecked}
                isDisabled={isBusy}
            />
            <p className="small muted">
                The decision is final. It costs the network fee of {feeText()}, and about 0.002 SOL for each USDC
                account that is paid and does not exist yet.
            </p>
            <Button
                look={choice === null || choice === 'reject' ? 'primary' : 'danger'}
                type="submit"
                isDisabled={isBusy}
            >
                {isBusy ? 'Deciding …' : buttonText(choice, slash)}
            </Button>
        </form>
    );
}

function buttonText(choice: Choice | null, slash: bigint | null): string {
    if (choice === null) return 'Sign the decision';
    if (choice === 'reject') return 'Sign: reject the dispute';
    if (choice === 'abusive') return 'Sign: reject it as abusive';
    return slash === null ? 'Sign: uphold the dispute' : `Sign: uphold and take ${formatUsdc(slash)} USDC`;
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
        <legend>Who was right?</legend>
        <label className={styles.option}>
            <input
                type="radio"
                name="decision"
                checked={choice === 'uphold'}
                disabled={!isUpholdable}
                onChange={() => onChange('uphold')}
            />
            <span>Uphold: the caller</span>
            <small>
                {isUpholdable ? (
                    'The caller gets money back out of the collateral, and the bond. The execution counts as not successful.'
                ) : (
                    <>
                        The creator can still answer. Possible <Countdown to={upholdableFrom(found)} over="now" />, or
                        as soon as there is an answer.
                    </>
                )}
            </small>
        </label>
        <label className={styles.option}>
            <input type="radio" name="decision" checked={choice === 'reject'} onChange={() => onChange('reject')} />
            <span>Reject: the creator</span>
            <small>The result stands, and the caller gets the bond back.</small>
        </label>
        <label className={styles.option}>
            <input type="radio" name="decision" checked={choice === 'abusive'} onChange={() => onChange('abusive')} />
            <span>Abusive: the creator, and the caller knew it</span>
            <small>The result stands, and the creator gets the bond of {formatUsdc(found.dispute.bond)} USDC.</small>
        </label>
        {isMissing && (
            <p id="decision-missing" role="alert" className={styles.missing}>
                Choose one of the three.
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
        ['To the caller', compensation],
        ['Penalty, to the insurance', penalty],
        ['Collateral now', collateralBefore],
        ['Collateral afterwards', collateralAfter],
        ['Needed for its price', required],
    ];
    return (
        <section className="stack" aria-label="What happens">
            <dl className={styles.preview}>
                {rows.map(([name, usdc]) => (
                    <PreviewRow key={name} name={name} usdc={usdc} />
                ))}
            </dl>
            <p aria-live="polite" className={isPausedByIt ? undefined : 'small muted'}>
                {slash === 0n
                    ? 'The caller is right, and gets nothing back.'
                    : isPausedByIt
                      ? `The agent is paused by this, until its creator adds at least ${formatUsdc(required - collateralAfter)} USDC.`
                      : collateralAfter < required
                        ? 'The agent is not active, so nothing else changes for it.'
                        : 'The agent keeps enough collateral for its price.'}
            </p>
        </section>
    );
};

const PreviewRow = ({ name, usdc }: { name: string; usdc: bigint }) => (
    <>
        <dt>{name}</dt>
        <dd className="number">{formatUsdc(usdc)} USDC</dd>
    </>
);

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other);
