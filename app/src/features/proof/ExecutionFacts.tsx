// Who and what the execution was, by the record and the transactions.

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { uuidText } from '../../chain/record';
import { formatUsdc } from '../../shared/money';
import { short } from '../../shared/text/short';
import { Address } from '../../shared/ui/Address';
import { ExactTime } from '../../shared/ui/ExactTime';
import facts from '../../shared/ui/Facts.module.css';
import { type ChainEvidence, need } from '../execution';
import { words } from './words';

export function ExecutionFacts({ chain }: { chain: ChainEvidence }) {
    const record = need(chain.record);
    const { listing, ending, closedBy } = chain;
    return (
        <section className="stack" aria-labelledby="facts">
            <h2 id="facts">{words.facts}</h2>
            <dl className={facts.list}>
                <Fact name={words.executionId}>
                    <Address value={uuidText(record.executionId)} what="execution id" ends={8} />
                </Fact>
                <Fact name={words.agent}>
                    <Link to="/agents/$agentId" params={{ agentId: record.agent }} className="mono">
                        {short(record.agent, 6)}
                    </Link>
                </Fact>
                {'value' in listing && (
                    <Fact name={words.creator}>
                        <Address value={listing.value.creator} what="creator's address" ends={6} />
                    </Fact>
                )}
                <Fact name={words.caller}>
                    <Address value={record.caller} what="caller's address" ends={6} />
                </Fact>
                <Fact name={words.price}>{formatUsdc(record.amount)} USDC</Fact>
                <Fact name={words.opened}>
                    <ExactTime at={Number(record.openedAtUnixS)} />
                </Fact>
                <Fact name={words.ended}>
                    <ExactTime at={Number(record.finishedAtUnixS)} />
                </Fact>
                {'value' in ending && (
                    <Fact name={words.settledBy}>
                        <Address value={ending.value.transaction.signature} what="signature" ends={6} />
                    </Fact>
                )}
                {closedBy !== null && (
                    <Fact name={words.closedBy}>
                        <Address value={closedBy} what="signature of the closing" ends={6} />
                    </Fact>
                )}
            </dl>
        </section>
    );
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
    <div className={facts.fact}>
        <dt>{name}</dt>
        <dd className="number">{children}</dd>
    </div>
);
