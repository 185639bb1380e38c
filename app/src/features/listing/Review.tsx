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
import { STEP_FIELDS, type Step, openSteps } from './steps';
import type { UseDraft } from './useNewDraft';
import { words } from './words';

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
    <Notice kind="warn" title={words.review.missing}>
        <ul className={styles.list}>
            {openSteps(problems).flatMap((step) =>
                STEP_FIELDS[step]
                    .filter((name) => problems[name] !== undefined)
                    .map((name) => (
                        <li key={name}>
                            <Link to="/creator/new" search={{ step }}>
                                {words.steps[step]}: {LABELS[name]}
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
            <h3 id={`review-${step}`}>{words.steps[step]}</h3>
            <Link
                to="/creator/new"
                search={{ step }}
                aria-label={words.review.changeStep(words.steps[step].toLowerCase())}
            >
                {words.review.change}
            </Link>
        </div>
        <dl className={styles.facts}>{children}</dl>
    </section>
);

/** The listing as others will read it. */
const Summary = ({ listing: { document, ...terms } }: { listing: Listing }) => (
    <div className={styles.main}>
        <Part step="details">
            <Fact name={words.review.name}>
                <UserText text={document.name} />
            </Fact>
            <Fact name={words.review.tagline}>
                <UserText text={document.tagline} />
            </Fact>
            <Fact name={words.review.description}>
                <UserBlock text={document.description} />
            </Fact>
            <Fact name={words.review.tags}>
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
            <Fact name={words.review.inputSchema}>
                <Schema schema={document.input_schema} />
            </Fact>
            <Fact name={words.review.outputSchema}>
                <Schema schema={document.output_schema} />
            </Fact>
        </Part>
        <Part step="price">
            <Fact name={words.review.price}>{words.review.usdc(formatUsdc(terms.price))}</Fact>
            <Fact name={words.review.cover}>{promiseText(terms.minCover)}</Fact>
            <Fact name={words.review.timeout}>{formatMs(terms.timeoutSeconds * 1_000)}</Fact>
            <Fact name={words.review.signatures}>
                {terms.binding ? words.review.signsCall : words.review.signsContent}
            </Fact>
        </Part>
        <Part step="service">
            <Fact name={words.review.resultKey}>
                <ShownAddress value={terms.resultKey} what={words.review.keyCopy} ends={6} />
            </Fact>
            <Fact name={words.review.endpoint}>
                <UserBlock text={document.endpoint} code />
                <p className="small muted">{words.review.endpointPublic}</p>
            </Fact>
        </Part>
    </div>
);

const Schema = ({ schema }: { schema: object }) => (
    <details>
        <summary>
            {Object.keys((schema as { properties?: object }).properties ?? {})
                .join(', ')
                .slice(0, 80) || words.review.jsonSchema}
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
        <aside className={styles.card} aria-label={words.review.cost}>
            <h3>{words.review.costs}</h3>
            <Costs listing={listing} holdings={holdings} />
            <h3>{words.review.effects}</h3>
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
                <Notice kind="warn" title={words.review.untested}>
                    <p>
                        {words.review.untestedText}{' '}
                        <Link to="/creator/new" search={{ step: 'test' }}>
                            {words.review.testFirst}
                        </Link>
                    </p>
                    <Checkbox
                        label={words.review.listUntested}
                        checked={goesUntested}
                        onChange={({ target }) => setUntested(target.checked)}
                    />
                </Notice>
            )}
            <SessionGate why={words.review.whySignIn}>
                {() => (
                    <Button look="primary" onPress={sign} isDisabled={!isReady || transaction.isBusy}>
                        {transaction.isBusy
                            ? words.review.listing
                            : words.review.submit(formatUsdc(listing.collateral))}
                    </Button>
                )}
            </SessionGate>
            <TransactionState status={transaction.status} done={words.review.done} />
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
        lamports === undefined ? <Skeleton height="1.5rem" width="6rem" /> : words.review.sol(formatSol(lamports));
    return (
        <dl className={styles.costs}>
            <dt>{words.review.collateral}</dt>
            <dd className="number">{words.review.usdc(formatUsdc(listing.collateral))}</dd>
            <dt>{words.review.balance}</dt>
            <dd className="number">
                {holdings === undefined ? (
                    <Skeleton height="1.5rem" width="6rem" />
                ) : (
                    words.review.usdc(formatUsdc(holdings.usdc))
                )}
            </dd>
            <dt>{words.review.deposit}</dt>
            <dd className="number">{sol(holdings?.listingRent)}</dd>
            {holdings?.hasProfile !== true && (
                <>
                    <dt>{words.review.profile}</dt>
                    <dd className="number">{sol(holdings?.profileRent)}</dd>
                </>
            )}
            <dt>{words.review.fee}</dt>
            <dd className="number">{feeText()}</dd>
        </dl>
    );
};

const Consequences = ({ listing, market }: { listing: Listing; market: Market }) => (
    <ul className={styles.list}>
        <li>{words.review.oneSignature}</li>
        <li>
            <strong>{words.review.public}</strong> {words.review.publicText}
        </li>
        <li>{words.review.live}</li>
        <li>
            {words.review.locked(
                formatUsdc(listing.collateral),
                spanText(Number(market.config.parameters.disputeWindowS)),
            )}
        </li>
        <li>{words.review.depositBack}</li>
        <li>{words.review.later}</li>
    </ul>
);
