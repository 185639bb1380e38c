// `/creator/new`: lists an agent step by step. The texts stay in this browser until the agent is listed.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { WalletGate } from '../wallet';
import { DetailsSection } from './form/DetailsSection';
import { EndpointSection } from './form/EndpointSection';
import type { Problems } from './form/fields';
import { KeySection } from './form/KeySection';
import { PriceSection } from './form/PriceSection';
import { readFields } from './form/rules';
import { SchemaSection } from './form/SchemaSection';
import styles from './Listing.module.css';
import { Listed } from './Listed';
import { type Market, marketQuery, ruleBookOf } from './market';
import { Review } from './Review';
import { StepList } from './StepList';
import { STEP_FIELDS, type Step, problemsAt, stepAfter, stepBefore } from './steps';
import { TestStep, subjectName } from './test/TestStep';
import { useListedAgent } from './useListedAgent';
import { type UseDraft, useNewDraft } from './useNewDraft';
import { useShownProblems } from './useShownProblems';
import { words } from './words';

const route = getRouteApi('/creator/new');

const NO_FILE = words.newAgentPage.unsavedKey;

export const NewAgentPage = () => (
    <Page title={words.newAgentPage.title}>
        <p className="muted">{words.newAgentPage.intro}</p>
        <WalletGate why={words.newAgentPage.why}>{(wallet) => <Wizard key={wallet} wallet={wallet} />}</WalletGate>
    </Page>
);

function Wizard({ wallet }: { wallet: Address }) {
    const { data: network, ...networkState } = useQuery(networkQuery);
    const { data: market, ...marketState } = useQuery(marketQuery(network));
    const draft = useNewDraft(wallet);
    const navigate = useNavigate();
    const listed = useListedAgent(wallet, network, market, draft);
    // Later failures keep the last answer, so that nobody loses a form because a node is away for a moment.
    const failed = network === undefined ? networkState : marketState;
    if (market === undefined && failed.error !== null)
        return <Failure error={failed.error} onRetry={() => void failed.refetch()} />;
    if (network === undefined || market === undefined || listed === undefined) return <Skeleton height="32rem" />;
    const another = (): void => {
        draft.clear();
        void navigate({ to: '/creator/new', search: {} });
    };
    if (listed !== null) return <Listed agentId={listed} network={network} onAnother={another} />;
    return <Steps wallet={wallet} network={network} market={market} draft={draft} />;
}

type StepsProps = { wallet: Address; network: Schemas['NetworkResponse']; market: Market; draft: UseDraft };

function Steps(props: StepsProps) {
    const { network, market, draft } = props;
    const { step = 'details' } = route.useSearch();
    const { fields, hasKeyFile } = draft.draft;
    const { listing, problems: unread } = readFields(fields, ruleBookOf(network, market));
    const isKeyOpen = !hasKeyFile && unread.resultKey === undefined;
    const problems: Problems = isKeyOpen ? { ...unread, resultKey: NO_FILE } : unread;
    const [passed, setPassed] = useState<string | null>(null);
    useFocusedHeading(step);
    const hasPassed = listing !== null && passed === subjectName(listing);
    return (
        <>
            <StepList current={step} problems={problems} hasPassed={hasPassed} />
            {draft.problem !== null && (
                <Notice kind="warn" title={words.newAgentPage.noDraft}>
                    <p>{words.newAgentPage.noDraftText}</p>
                </Notice>
            )}
            <OneStep key={step} {...props} step={step} problems={problems} hasPassed={hasPassed}>
                {step === 'test' && (
                    <TestStep
                        listing={listing}
                        problems={problems}
                        call={draft.draft.test}
                        onCall={(test) => draft.update({ test })}
                        onReport={(subject, report) => setPassed(report.passed ? subject : null)}
                        isMain={!hasPassed}
                    />
                )}
                {step === 'review' && <Review {...props} listing={listing} problems={problems} hasPassed={hasPassed} />}
            </OneStep>
        </>
    );
}

type OneStepProps = StepsProps & { step: Step; problems: Problems; hasPassed: boolean; children: ReactNode };

/** The heading, the fields and the way on. The next step opens when the fields of this one are right. */
function OneStep(props: OneStepProps) {
    const { step, problems, draft, hasPassed, children } = props;
    const navigate = useNavigate();
    const form = useRef<HTMLFormElement>(null);
    // Without fields of the step, Enter in an input must not lead away.
    const hasFields = STEP_FIELDS[step].length > 0;
    const { shown, onBlur, showAll } = useShownProblems(draft.draft.fields, problems);
    const goOn = (): void => {
        if (problemsAt(step, problems).length === 0)
            return void navigate({ to: '/creator/new', search: { step: stepAfter(step) } });
        showAll();
        setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid]')?.focus());
    };
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        if (hasFields) goOn();
    };
    const before = stepBefore(step);
    const isWide = step === 'schemas' || step === 'review';
    return (
        <form
            ref={form}
            className={`${styles.body} ${isWide ? styles.wide : ''}`}
            onSubmit={submit}
            onBlur={onBlur}
            noValidate
        >
            <h2 id="step" tabIndex={-1}>
                {words.steps[step]}
            </h2>
            <Section {...props} problems={shown} />
            {children}
            <div className={styles.moves}>
                {before === null ? (
                    <span />
                ) : (
                    <Button onPress={() => void navigate({ to: '/creator/new', search: { step: before } })}>
                        {words.newAgentPage.back}
                    </Button>
                )}
                {step !== 'review' && (
                    <Button
                        look={hasFields || hasPassed ? 'primary' : 'plain'}
                        {...(hasFields ? { type: 'submit' } : { onPress: goOn })}
                    >
                        {step === 'test' && !hasPassed ? words.newAgentPage.skipTest : words.newAgentPage.next}
                    </Button>
                )}
            </div>
        </form>
    );
}

function Section({ step, wallet, network, market, draft, problems }: OneStepProps) {
    const form = { fields: draft.draft.fields, set: draft.set, problems };
    switch (step) {
        case 'details':
            return <DetailsSection {...form} network={network} />;
        case 'schemas':
            return <SchemaSection {...form} network={network} />;
        case 'price':
            return <PriceSection {...form} network={network} market={market} />;
        case 'service':
            return (
                <>
                    <KeySection
                        {...form}
                        wallet={wallet}
                        hasFile={draft.draft.hasKeyFile}
                        onHasFile={(hasKeyFile) => draft.update({ hasKeyFile })}
                    />
                    <EndpointSection {...form} network={network} />
                </>
            );
        default:
            return null;
    }
}

/**
 * Moves the focus to the heading of a step that a press opened, so that it is announced. The first step is read from
 * the top of the page.
 */
function useFocusedHeading(step: Step): void {
    const shown = useRef(step);
    useEffect(() => {
        if (shown.current !== step) document.getElementById('step')?.focus({ preventScroll: true });
        shown.current = step;
    }, [step]);
}
