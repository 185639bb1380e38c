// The last failures of an agent, each with its reason and the id of its execution.

import { useState } from 'react';

import type { Schemas } from '../../../../shared/api/client';
import { short } from '../../../../shared/text/short';
import { UserText } from '../../../../shared/text/UserText';
import { Button } from '../../../../shared/ui/Button';
import { Copy } from '../../../../shared/ui/Copy';
import { ExactTime } from '../../../../shared/ui/ExactTime';
import { Panel } from '../../../../shared/ui/Panel';
import { type Column, Table } from '../../../../shared/ui/Table';
import { reasonText } from '../reasonText';
import { words } from '../words';
import styles from './Health.module.css';

type AgentFailure = Schemas['AgentHealthResponse']['failures'][number];

const w = words.failures;
const FIRST = 5;

const COLUMNS: readonly Column<AgentFailure>[] = [
    { name: w.when, cell: ({ initiated_at: at }) => <ExactTime at={at} /> },
    {
        name: w.reason,
        cell: ({ code, message }) => (
            <div className={styles.reason}>
                <UserText text={reasonText(code)} />
                {message !== '' && (
                    <span className="small muted">
                        <UserText text={message} />
                    </span>
                )}
            </div>
        ),
    },
    { name: w.execution, cell: ({ execution_id: id }) => <Id id={id} what={w.executionId} /> },
];

const Id = ({ id, what }: { id: string; what: string }) => (
    <span className="row">
        <span className="mono">
            <UserText text={short(id, 6)} />
        </span>
        <Copy text={id} what={what} />
    </span>
);

export function Failures({ failures }: { failures: readonly AgentFailure[] }) {
    const [isAll, setAll] = useState(false);
    const shown = isAll ? failures : failures.slice(0, FIRST);
    return (
        <Panel title={w.title} className={styles.wide}>
            {failures.length === 0 ? (
                <p className="muted">{w.none}</p>
            ) : (
                <>
                    <p className="small muted">{w.hint}</p>
                    <Table caption={w.title} columns={COLUMNS} rows={shown} rowKey={({ execution_id: id }) => id} />
                </>
            )}
            {shown.length < failures.length && (
                <div>
                    <Button onPress={() => setAll(true)}>{w.showAll(failures.length)}</Button>
                </div>
            )}
        </Panel>
    );
}
