// The last step: everything that will be listed, what is locked, what it costs, what comes back when, and the one
// signature.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';

import { findAgentListedAddress } from '../../chain/addresses';
import { feeText } from '../../chain/fee';
import type { Schemas } from '../../shared/api/client';
import { promiseText } from '../../shared/cover';
import { formatMs } from '../../shared/figures';
import { formatSol, formatUsdc } from '../../shared/money';
import { spanText } from '../../shared/time/spans';
import { UserBlock, UserText } from '../../shared/text/UserText';
import { Address as ShownAddress } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { Checkbox } from '../../shared/ui/Field';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { useWallet } from '../../shared/wallet/useWallet';
import { GetMoney } from '../run';
import { SessionGate, TransactionState } from '../wallet';
import type { Attempt } from './draft';
import { DocumentRefused } from './form/document';
import { LABELS, type Problems } from './form/fields';
import type { Listing } from './form/rules';
import styles from './Listing.module.css';
import { type Market, type Wallet, walletQuery } from './market';
import { ListedBefore, listingInstructions, obstacles } from './publish';
import { STEP_FIELDS, type Step, TITLES, openSteps } from './steps';
import type { UseDraft } from './useNewDraft';

type Network = Schemas['NetworkResponse'];

export type ReviewProps = {
    wallet: Address;
    network: Network;
    market: Market;
    draft: UseDraft;
    listing: Listing | null;
    problems: Problems;
    hasPassed: boolean;
};

export function Review(props: ReviewProps) {
    const { listing, problems } = props;
    if (listing === null || openSteps(problems).length > 0) return <Missing problems={problems} />;
    return (
        <div className={styles.columns}>
            <Summary listing={listing} />
            <Payment {...props} listing={listing} />
        </div>
    );
}

/** The fields that are not right yet, each with a link to its step. */
const Missing = ({ problems }: { problems: Problems }) => (
    <Notice kind="warn" title="Something is missing">
        <ul className={styles.list}>
            {openSteps(problems).flatMap((step) =>
                STEP_FIELDS[step]
                    .filter((name) => problems[name] !== undefined)
                    .map((name) => (
                        <li key={name}>
                            <Link to="/creator/new" search={{ step }}>
                                {TITLES[step]}: {LABELS[name]}
                            </Link>
                            . {problems[name]}
                        </li>
                    )),
            )}
        </ul>
    </Notice>
);

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
    <div className={styles.fact}>
        <dt>{name}</dt>
        <dd>{children}</dd>
    </div>
);

const Part = ({ step, children }: { step: Step; children: ReactNode }) => (
    <section className="stack" aria-labelledby={`review-${step}`}>
        <div className={styles.part}>
            <h3 id={`review-${step}`}>{TITLES[step]}</h3>
            <Link to="/creator/new" search={{ step }} aria-label={`Change ${TITLES[step].toLowerCase()}`}>
                Change
            </Link>
        </div>
        <dl className={styles.facts}>{children}</dl>
    </section>
);

/** The listing as others will read it. */
const Summary = ({ listing: { document, ...terms } }: { listing: Listing }) => (
    <div className={styles.main}>
        <Part step="details">
            <Fact name="Name">
                <UserText text={document.name} />
            </Fact>
            <Fact name="Tagline">
                <UserText text={document.tagline} />
            </Fact>
            <Fact name="Description">
                <UserBlock text={document.description} />
            </Fact>
            <Fact name="Tags">
                <span className="row">
                    {document.tags.map((tag) => (
                        <Badge key={tag}>
                            <UserText text={tag} />
                        </Badge>
                    ))}
                </span>
            </Fact>
        </Part>
        <Part step="schemas">
            <Fact name="Input schema">
                <Schema schema={document.input_schema} />
            </Fact>
            <Fact name="Output schema">
                <Schema schema={document.output_schema} />
            </Fact>
        </Part>
        <Part step="price">
            <Fact name="Price of one call">{formatUsdc(terms.price)} USDC</Fact>
            <Fact name="Promised cover">{promiseText(terms.minCover)}</Fact>
            <Fact name="Time-out">{formatMs(terms.timeoutSeconds * 1_000)}</Fact>
            <Fact name="Signatures">
                {terms.binding ? 'Each result is signed for its call' : 'Each result is signed for its content alone'}
            </Fact>
        </Part>
        <Part step="service">
            <Fact name="Result key">
                <ShownAddress value={terms.resultKey} what="result key" ends={6} />
            </Fact>
            <Fact name="Endpoint">
                <UserBlock text={document.endpoint} code />
                <p className="small muted">It stands in the public document of the listing.</p>
            </Fact>
        </Part>
    </div>
);

const Schema = ({ schema }: { schema: object }) => (
    <details>
        <summary>
            {Object.keys((schema as { properties?: object }).properties ?? {})
                .join(', ')
                .slice(0, 80) || 'JSON Schema'}
        </summary>
        <UserBlock text={JSON.stringify(schema, null, 2)} code />
    </details>
);

function Payment({ wallet, network, market, draft, listing, hasPassed }: ReviewProps & { listing: Listing }) {
    const { connection } = useWallet();
    const { data: holdings } = useQuery(walletQuery(network, wallet, market));
    const transaction = useTransaction();
    const [refusedFields, setRefused] = useState<Problems>({});
    const [goesUntested, setUntested] = useState(false);
    const found = holdings === undefined ? [] : obstacles(network, market, holdings, listing);
    const isReady = holdings !== undefined && found.length === 0 && (hasPassed || goesUntested);

    const sign = (): void => {
        setRefused({});
        const { fields, attempt } = draft.draft;
        let kept = attempt;
        const keep = (next: Attempt): void => {
            draft.keep({ attempt: next });
            kept = next;
        };
        const build = (creator: Address) =>
            listingInstructions(creator, { network, fields, attempt, collateral: listing.collateral, keep }).catch(
                (error: unknown) => {
                    if (error instanceof DocumentRefused) setRefused(error.problems);
                    if (error instanceof ListedBefore) draft.update({ listed: error.agentId });
                    throw error;
                },
            );
        const after = async (): Promise<void> => {
            if (kept !== null) draft.update({ listed: await findAgentListedAddress(wallet, kept.index) });
        };
        void transaction.send({ build, after });
    };
    return (
        <aside className={styles.card} aria-label="Cost and signature">
            <h3>What it costs</h3>
            <Costs listing={listing} holdings={holdings} />
            <h3>What will happen</h3>
            <Consequences listing={listing} market={market} />
            {found.map(({ title, text, isFunds }) => (
                <Notice key={title} kind="warn" title={title}>
                    <p>{text}</p>
                    {isFunds && connection?.wallet.name === LOCAL_WALLET && (
                        <GetMoney address={wallet} network={network} />
                    )}
                </Notice>
            ))}
            {!hasPassed && (
                <Notice kind="warn" title="The test has not passed">
                    <p>
                        A service that fails the test fails its callers, too.{' '}
                        <Link to="/creator/new" search={{ step: 'test' }}>
                            Test it first
                        </Link>
                    </p>
                    <Checkbox
                        label="List it without a passed test"
                        checked={goesUntested}
                        onChange={({ target }) => setUntested(target.checked)}
                    />
                </Notice>
            )}
            <SessionGate why="The service stores the document of the agent for the wallet that lists it.">
                {() => (
                    <Button look="primary" onPress={sign} isDisabled={!isReady || transaction.isBusy}>
                        {transaction.isBusy
                            ? 'Listing …'
                            : `Lock ${formatUsdc(listing.collateral)} USDC and list the agent`}
                    </Button>
                )}
            </SessionGate>
            <TransactionState status={transaction.status} done="The agent is listed." />
            <Refused problems={refusedFields} />
        </aside>
    );
}

/** The problems that the service found, each with a link to its step. */
const Refused = ({ problems }: { problems: Problems }) => (
    <ul className={styles.list}>
        {Object.entries(problems).map(([name, problem]) => {
            const step =
                (Object.keys(STEP_FIELDS) as Step[]).find((candidate) =>
                    STEP_FIELDS[candidate].some((field) => field === name),
                ) ?? 'details';
            return (
                <li key={name}>
                    <Link to="/creator/new" search={{ step }}>
                        {LABELS[name as keyof typeof LABELS]}
                    </Link>
                    : <UserText text={problem} />
                </li>
            );
        })}
    </ul>
);

const Costs = ({ listing, holdings }: { listing: Listing; holdings: Wallet | undefined }) => {
    const sol = (lamports: bigint | undefined) =>
        lamports === undefined ? <Skeleton height="1.5rem" width="6rem" /> : `${formatSol(lamports)} SOL`;
    return (
        <dl className={styles.costs}>
            <dt>Collateral, comes back</dt>
            <dd className="number">{formatUsdc(listing.collateral)} USDC</dd>
            <dt>Your balance</dt>
            <dd className="number">
                {holdings === undefined ? (
                    <Skeleton height="1.5rem" width="6rem" />
                ) : (
                    `${formatUsdc(holdings.usdc)} USDC`
                )}
            </dd>
            <dt>Deposit for three accounts, comes back</dt>
            <dd className="number">{sol(holdings?.listingRent)}</dd>
            {holdings?.hasProfile !== true && (
                <>
                    <dt>Your creator profile, once</dt>
                    <dd className="number">{sol(holdings?.profileRent)}</dd>
                </>
            )}
            <dt>Network fee</dt>
            <dd className="number">{feeText()}</dd>
        </dl>
    );
};

const Consequences = ({ listing, market }: { listing: Listing; market: Market }) => (
    <ul className={styles.list}>
        <li>Your wallet signs one transaction.</li>
        <li>
            <strong>Results are public.</strong> The chain names the address of every result that you sign, so everybody
            can read it, for good. Say in the description what callers must not ask for.
        </li>
        <li>
            The agent is live as soon as it is confirmed. The service shows it after it has checked the document, some
            seconds later.
        </li>
        <li>
            {formatUsdc(listing.collateral)} USDC are locked. They come back after you delist the agent, once no call is
            open and {spanText(Number(market.config.parameters.disputeWindowS))} have passed since its last paid call.
            An open dispute keeps what it may still take. An upheld one can take part of them or all.
        </li>
        <li>The deposit comes back when you then close the agent. The profile stays, and so does its deposit.</li>
        <li>
            Price, texts and endpoint can be changed later. Raising price or promised cover can need more collateral.
        </li>
    </ul>
);
