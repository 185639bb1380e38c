// The API key that paid, by its name; the wallet itself if there was none.

import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import styles from './Executions.module.css';
import type { KeyNames } from './keyNames';
import { words } from './words';

export type KeyNameProps = { sessionKey: string | null; names: KeyNames | undefined };

export const KeyName = ({ sessionKey, names }: KeyNameProps) => {
    if (sessionKey === null) return <span className="muted">{words.walletItself}</span>;
    const name = names?.get(sessionKey);
    return name === undefined ? (
        <span className={`${styles.whole} mono`} title={sessionKey}>
            {short(sessionKey)}
        </span>
    ) : (
        <UserText text={name} />
    );
};
