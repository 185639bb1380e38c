// What both pages of the explorer are made of: facts, links to accounts and transactions, lists of names and values.

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

import { UserText } from '../../shared/text/UserText';
import facts from '../../shared/ui/Facts.module.css';
import styles from './Explorer.module.css';
import { type Named, programName } from './names';

export const Fact = ({ name, children }: { name: ReactNode; children: ReactNode }) => (
    <div className={facts.fact}>
        <dt>{name}</dt>
        <dd className={styles.value}>{children}</dd>
    </div>
);

export const AccountName = ({ address }: { address: string }) => (
    <Link to="/explorer/account/$address" params={{ address }} className={styles.long}>
        {programName(address) ?? <span className="mono">{address}</span>}
    </Link>
);

export const Names = ({ values }: { values: readonly Named[] }) => (
    <dl className={facts.list}>
        {values.map(({ name, value, isAddress }, index) => (
            <Fact key={index} name={name}>
                {isAddress ? (
                    <AccountName address={value} />
                ) : (
                    <span className={styles.long}>
                        <UserText text={value} />
                    </span>
                )}
            </Fact>
        ))}
    </dl>
);
