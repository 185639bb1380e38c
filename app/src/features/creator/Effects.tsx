// What a transaction does and costs, said before it is signed.

import { feeText } from '../../chain/fee';
import styles from './Effects.module.css';
import { words } from './words';

export type EffectsProps = {
    /** One sentence each. */
    effects: readonly string[];
};

export const Effects = ({ effects }: EffectsProps) => (
    <div>
        <p className="small muted">{words.effects.title}</p>
        <ul className={styles.effects}>
            {effects.map((effect) => (
                <li key={effect}>{effect}</li>
            ))}
            <li className="muted">{words.effects.fee(feeText())}</li>
        </ul>
    </div>
);
