// `/creator/agents/…/edit`: the form of a listing, filled from the chain and its document, and the difference that one
// signature sends.

import type { Address } from '@solana/kit';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useRef, useState } from 'react';

import { StoredAgentStatus } from '../../chain/stored';
import { UserText } from '../../shared/text/UserText';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { ChangePanel } from './ChangePanel';
import { coveredBy, depositFor, differences, fieldsOf, readRelevant } from './change';
import { changesOf, mergedChanges, putChanges } from './draft';
import { DetailsSection } from './form/DetailsSection';
import { EndpointSection } from './form/EndpointSection';
import type { Fields, Problems } from './form/fields';
import { KeySection } from './form/KeySection';
import { PriceSection } from './form/PriceSection';
import { SchemaSection } from './form/SchemaSection';
import styles from './Listing.module.css';
import { ruleBookOf } from './market';
import { OwnAgent, type OwnAgentData } from './OwnAgent';
import { useShownProblems } from './useShownProblems';
import { words } from './words';

const route = getRouteApi('/creator/agents/$agentId/edit');

export function EditAgentPage() {
    const { agentId } = route.useParams();
    return (
        <Page title={words.editAgentPage.title}>
            <OwnAgent agentId={agentId} why={words.editAgentPage.why}>
                {(data) => <Editable key={agentId} agentId={agentId as Address} {...data} />}
            </OwnAgent>
        </Page>
    );
}

type EditProps = OwnAgentData & { agentId: Address };

function Editable(props: EditProps) {
    const { own, agentId } = props;
    if (own.listing.status === StoredAgentStatus.Delisted) {
        return (
            <Notice kind="warn" title={words.editAgentPage.delisted}>
                <p>
                    {words.editAgentPage.delistedText} <Link to="/creator/new">{words.editAgentPage.listNew}</Link>
                </p>
            </Notice>
        );
    }
    return (
        <>
            <p className="muted">
                {own.document !== null && (
                    <>
                        <UserText text={own.document.fields.name} />
                        {' \u00b7 '}
                    </>
                )}
                <Link to="/agents/$agentId" params={{ agentId }}>
                    {words.editAgentPage.page}
                </Link>
                {' \u00b7 '}
                <Link to="/creator/agents/$agentId/test" params={{ agentId }}>
                    {words.editAgentPage.test}
                </Link>
            </p>
            {own.problem !== null && (
                <Notice kind="warn" title={words.editAgentPage.noDocument}>
                    <p>{words.editAgentPage.noDocumentText(own.problem)}</p>
                </Notice>
            )}
            <Editor {...props} />
        </>
    );
}

function Editor({ agentId, network, market, own, wallet }: EditProps) {
    const base = fieldsOf(own);
    const { changes, change, clear } = useChanges(agentId, base);
    const [hasFile, setHasFile] = useState(false);
    const fields: Fields = { ...base, ...changes };
    const found = differences(base, fields);
    const changed = new Set(found.map(({ name }) => name));
    const { listing, problems: unread } = readRelevant(fields, changed, ruleBookOf(network, market));
    const problems: Problems =
        changed.has('resultKey') && !hasFile ? { ...unread, resultKey: words.editAgentPage.unsavedKey } : unread;
    const { shown, onBlur } = useShownProblems(fields, problems);
    const { collateralTiers } = market.config.parameters;
    const deposit =
        listing === null ? 0n : depositFor(own.listing, collateralTiers, coveredBy(own.listing, changed, listing));
    const form = { fields, set: change, problems: shown };
    const onSaved = (): void => {
        clear();
        setHasFile(false);
    };
    return (
        <div className={styles.columns}>
            <div className={styles.main} onBlur={onBlur}>
                <section className="stack" aria-labelledby="edit-details">
                    <h2 id="edit-details">{words.editAgentPage.details}</h2>
                    <DetailsSection {...form} network={network} />
                </section>
                <section className="stack" aria-labelledby="edit-price">
                    <h2 id="edit-price">{words.editAgentPage.price}</h2>
                    <PriceSection {...form} network={network} market={market} locked={own.listing.collateral} />
                </section>
                <section className="stack" aria-labelledby="edit-service">
                    <h2 id="edit-service">{words.editAgentPage.service}</h2>
                    <EndpointSection {...form} network={network} />
                    <KeySection
                        {...form}
                        wallet={wallet}
                        hasFile={hasFile}
                        onHasFile={setHasFile}
                        present={own.listing.resultKey}
                    />
                </section>
                <section className="stack" aria-labelledby="edit-schemas">
                    <h2 id="edit-schemas">{words.editAgentPage.schemas}</h2>
                    <SchemaSection {...form} network={network} />
                </section>
            </div>
            <ChangePanel
                change={{ network, agentId, base: own, fields, changed, deposit }}
                differences={found}
                problems={problems}
                onUndo={clear}
                onSaved={onSaved}
                wallet={wallet}
                market={market}
            />
        </div>
    );
}

/** The changed fields, kept in this browser until they are sent or taken back. */
function useChanges(agentId: string, base: Fields) {
    const [changes, setChanges] = useState(() => changesOf(agentId));
    const latest = useRef(changes);
    const keep = (next: Partial<Fields>): void => {
        latest.current = next;
        setChanges(next);
        try {
            putChanges(agentId, next);
        } catch {
            // Only a reload needs the stored changes; the transaction does not.
        }
    };
    return {
        changes,
        change: (more: Partial<Fields>) => keep(mergedChanges(base, latest.current, more)),
        clear: () => keep({}),
    };
}
