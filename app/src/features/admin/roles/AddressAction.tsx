// An action that needs one address: the field, and what happens with it.

import type { Address, Instruction, TransactionSigner } from '@solana/kit';
import { type ReactNode, useState } from 'react';

import { TextField } from '../../../shared/ui/Field';
import { Action, type ActionProps } from '../act/Action';
import { asAdmin } from '../act/requests';
import styles from '../Admin.module.css';
import { type ApartHolders, type ApartRole, apartProblem } from './apart';
import { readAddress } from './successors';
import { words } from '../words';

export type AddressActionProps = Pick<ActionProps, 'label' | 'question' | 'isDangerous' | 'done'> & {
    field: string;
    hint: string;
    effects: readonly ReactNode[];
    /** Naming its holder changes nothing, and naming the holder of another one of these roles is refused. */
    role: ApartRole;
    config: ApartHolders;
    make: (signer: TransactionSigner, address: Address) => Promise<Instruction>;
};

export function AddressAction({ field, hint, role, config, make, ...action }: AddressActionProps) {
    const [text, setText] = useState('');
    const { address, problem } = readAddress(text);
    const refusal =
        address === null
            ? problem
            : address === config[role]
              ? words.addressAction.already
              : apartProblem(role, address, config);
    return (
        <>
            <div className={styles.single}>
                <TextField
                    label={field}
                    hint={hint}
                    value={text}
                    error={refusal}
                    autoComplete="off"
                    spellCheck={false}
                    onChange={({ target }) => setText(target.value)}
                />
            </div>
            <Action
                {...action}
                obstacle={address === null || refusal !== undefined ? words.addressAction.another : undefined}
                make={asAdmin((admin) => {
                    if (address === null) throw new Error(words.addressAction.empty);
                    return make(admin, address);
                })}
                after={() => setText('')}
            />
        </>
    );
}
