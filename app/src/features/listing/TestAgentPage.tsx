// `/creator/agents/…/test`: tests the service of a listed agent at any time.

import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';

import { usdcText } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { TextField } from '../../shared/ui/Field';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { SessionGate } from '../wallet';
import { putTest, testOf } from './draft';
import { fieldsOf } from './change';
import { readFields } from './form/rules';
import styles from './Listing.module.css';
import { ruleBookOf } from './market';
import { OwnAgent, type OwnAgentData } from './OwnAgent';
import { EndpointTest } from './test/EndpointTest';
import { subjectOf } from './test/TestStep';
import { type TestCall, knownCall } from './test/testCall';
import { words } from './words';

const LISTED = words.testAgentPage.endpointHint;

const route = getRouteApi('/creator/agents/$agentId/test');

export function TestAgentPage() {
    const { agentId } = route.useParams();
    return (
        <Page title={words.testAgentPage.title}>
            <p className="muted">{words.testAgentPage.intro}</p>
            <OwnAgent agentId={agentId} why={words.testAgentPage.why}>
                {(data) => <Testing key={agentId} agentId={agentId} {...data} />}
            </OwnAgent>
        </Page>
    );
}

function Testing({ agentId, network, market, own }: OwnAgentData & { agentId: string }) {
    const listed = fieldsOf(own);
    const [endpoint, setEndpoint] = useState(listed.endpoint);
    const [call, setCall] = useState<TestCall>(() => knownCall(testOf(agentId)));
    // The price of an old listing may be below today's lowest price; the test does not depend on it.
    const price = usdcText(network.limits.max_price_usdc);
    const { listing, problems } = readFields({ ...listed, endpoint, price }, ruleBookOf(network, market));
    const keep = (next: TestCall): void => {
        setCall(next);
        try {
            putTest(agentId, next);
        } catch {
            // Only a convenience.
        }
    };
    if (own.document === null) {
        return (
            <Notice kind="warn" title={words.testAgentPage.noDocument}>
                <p>
                    {words.testAgentPage.noDocumentText(own.problem ?? '')}{' '}
                    <Link to="/creator/agents/$agentId/edit" params={{ agentId }}>
                        {words.testAgentPage.replace}
                    </Link>
                </p>
            </Notice>
        );
    }
    return (
        <div className={styles.body}>
            <p>
                <UserText text={listed.name} />
                {' \u00b7 '}
                <Link to="/agents/$agentId" params={{ agentId }}>
                    {words.testAgentPage.page}
                </Link>
                {' \u00b7 '}
                <Link to="/creator/agents/$agentId/edit" params={{ agentId }}>
                    {words.testAgentPage.edit}
                </Link>
            </p>
            <TextField
                label={words.testAgentPage.endpoint}
                hint={endpoint === listed.endpoint ? LISTED : words.testAgentPage.otherEndpoint}
                error={problems.endpoint}
                value={endpoint}
                onChange={({ target }) => setEndpoint(target.value)}
                type="url"
                dir="ltr"
                autoComplete="off"
                spellCheck={false}
            />
            {listing === null ? (
                Object.keys(problems).some((name) => name !== 'endpoint') && (
                    <Notice kind="warn" title={words.testAgentPage.untestable}>
                        <p>
                            {Object.values(problems)[0]}{' '}
                            <Link to="/creator/agents/$agentId/edit" params={{ agentId }}>
                                {words.testAgentPage.edit}
                            </Link>
                        </p>
                    </Notice>
                )
            ) : (
                <SessionGate why={words.testAgentPage.whySignIn}>
                    {(wallet) => (
                        <EndpointTest wallet={wallet} subject={subjectOf(listing)} call={call} onCall={keep} isMain />
                    )}
                </SessionGate>
            )}
        </div>
    );
}
