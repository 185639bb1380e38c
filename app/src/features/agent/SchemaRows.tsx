// The rows of a schema as a list: a name, what it takes, and its description.

import { Fragment, type ReactNode } from 'react';

import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import type { SchemaRow } from './schemaRows';
import styles from './SchemaRows.module.css';
import { words } from './words';

/** `prose`: how a description is shown. */
export const SchemaRows = ({ rows, prose }: { rows: readonly SchemaRow[]; prose: (text: string) => ReactNode }) => (
    <dl className={styles.rows}>
        {rows.map((row) => (
            <Fragment key={row.path}>
                <dt data-depth={row.depth}>
                    <code>
                        <UserText text={row.name} />
                    </code>
                    {row.required && <Badge kind="accent">{words.required}</Badge>}
                </dt>
                <dd data-depth={row.depth}>
                    <p className="small muted">
                        <UserText text={[row.type, ...row.limits].join(' · ')} />
                    </p>
                    {row.description !== '' && prose(row.description)}
                </dd>
            </Fragment>
        ))}
    </dl>
);
