// The fields of the form, in groups, each with the program's limits.

import { TextField } from '../../../shared/ui/Field';
import { type ParameterField, type ParameterProblems, TIERS } from '../../market';
import styles from '../Admin.module.css';
import type { Draft } from './draft';

export type ParameterFieldsProps = { draft: Draft; problems: ParameterProblems; onChange: (change: Draft) => void };

export const ParameterFields = ({ draft, problems, onChange }: ParameterFieldsProps) => {
    const field = (name: ParameterField) => ({
        value: draft[name] ?? '',
        error: problems[name],
        autoComplete: 'off',
        onChange: ({ target }: { target: { value: string } }) => onChange({ [name]: target.value }),
    });
    const amount = (name: ParameterField) => ({ ...field(name), inputMode: 'decimal' as const });
    return (
        <>
            <fieldset className={styles.group}>
                <legend>Fee and lowest price</legend>
                <div className={styles.fields}>
                    <TextField label="Fee, percent of a payment" hint="0 to 5." {...amount('fee')} />
                    <TextField
                        label="Lowest price of a call, USDC"
                        hint="Its fee is at least 0.000001 USDC."
                        {...amount('minPrice')}
                    />
                </div>
            </fieldset>
            <fieldset className={styles.group}>
                <legend>Times, penalty and bond</legend>
                <div className={styles.fields}>
                    <TextField
                        label="Dispute window"
                        hint="3 to 14 days after an execution."
                        {...field('disputeWindow')}
                    />
                    <TextField label="Settlement grace" hint="0 s to 1 d after a time-out." {...field('settleGrace')} />
                    <TextField
                        label="Highest penalty"
                        hint="1 to 100 times the amount paid."
                        {...field('penalty')}
                        inputMode="numeric"
                    />
                    <TextField label="Bond of a dispute, USDC" hint="0 to 1." {...amount('disputeBond')} />
                </div>
            </fieldset>
            <fieldset className={styles.group}>
                <legend>Collateral by price</legend>
                {Array.from({ length: TIERS }, (_, index) => (
                    <div key={index} className={styles.tier}>
                        {index < TIERS - 1 ? (
                            <TextField
                                label={`Tier ${index + 1}: for a price up to, USDC`}
                                {...amount(`tier-${index}-price`)}
                            />
                        ) : (
                            <TextField
                                label={`Tier ${TIERS}: for a price up to, USDC`}
                                value="every higher price"
                                disabled
                            />
                        )}
                        <TextField
                            label={`Tier ${index + 1}: collateral, USDC`}
                            {...amount(`tier-${index}-collateral`)}
                        />
                    </div>
                ))}
            </fieldset>
        </>
    );
};
