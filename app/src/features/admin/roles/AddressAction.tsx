// An action that needs one address: the field, and what happens with it.

import type { Address, Instruction, TransactionSigner } from '@solana/kit';
import { type ReactNode, useState } from 'react';

import { TextField } from '../../../shared/ui/Field';
import { Action, type ActionProps } from '../act/Action';
import { asAdmin } from '../act/requests';
import styles from '../Admin.module.css';
import { readAddress } from './successors';

export type AddressActionProps = Pick<ActionProps, 'label' | 'question' | 'isDangerous' | 'done'> & {
    field: string;
    hint: string;
    effects: readonly ReactNode[];
    /** Who has the role now: naming the same changes nothing. */
    holder: Address;
    make: (signer: TransactionSigner, address: Address) => Promise<Instruction>;
};

export function AddressAction({ field, hint, holder, make, ...action }: AddressActionProps) {
    const [text, setText] = useState('');
    const { address, problem } = readAddress(text);
    const isSame = address === holder;
    return (
        <>
            <div className={styles.single}>
                <TextField
                    label={field}
                    hint={hint}
                    value={text}
                    error={isSame ? 'This address has the role already.' : problem}
                    autoComplete="off"
                    spellCheck={false}
                    onChange={({ target }) => setText(target.value)}
                />
            </div>
            <Action
                {...action}
                obstacle={address === null || isSame ? 'Write an address first.' : undefined}
                make={asAdmin((admin) => {
                    if (address === null) throw new Error('Write an address first.');
                    return make(admin, address);
                })}
                after={() => setText('')}
            />
        </>
    );
}
