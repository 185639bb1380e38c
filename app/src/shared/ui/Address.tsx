// An address, a hash or a signature: short on the screen, whole for the clipboard and for a screen reader.

import { short } from '../text/short';
import styles from './Address.module.css';
import { Copy } from './Copy';
import { words } from './words';

export type AddressProps = { value: string; what?: string; href?: string | undefined; ends?: number };

export const Address = ({ value, what = words.address, href, ends = 4 }: AddressProps) => (
    <span className={styles.address}>
        {href === undefined ? (
            <span className="mono" title={value}>
                {short(value, ends)}
            </span>
        ) : (
            <a className="mono" href={href} title={value} target="_blank" rel="noreferrer">
                {short(value, ends)}
            </a>
        )}
        <Copy text={value} what={what} />
    </span>
);
