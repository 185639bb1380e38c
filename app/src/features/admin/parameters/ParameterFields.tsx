// The fields of the form, in groups, each with the program's limits.

import { TextField } from '../../../shared/ui/Field';
import { type ParameterField, type ParameterProblems, TIERS } from '../../market';
import styles from '../Admin.module.css';
import type { Draft } from './draft';
import { words } from '../words';

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
                <legend>{words.parameterFields.fees}</legend>
                <div className={styles.fields}>
                    <TextField
                        label={words.parameterFields.fee}
                        hint={words.parameterFields.feeHint}
                        {...amount('fee')}
                    />
                    <TextField
                        label={words.parameterFields.minPrice}
                        hint={words.parameterFields.minPriceHint}
                        {...amount('minPrice')}
                    />
                </div>
            </fieldset>
            <fieldset className={styles.group}>
                <legend>{words.parameterFields.times}</legend>
                <div className={styles.fields}>
                    <TextField
                        label={words.parameterFields.window}
                        hint={words.parameterFields.windowHint}
                        {...field('disputeWindow')}
                    />
                    <TextField
                        label={words.parameterFields.grace}
                        hint={words.parameterFields.graceHint}
                        {...field('settleGrace')}
                    />
                    <TextField
                        label={words.parameterFields.penalty}
                        hint={words.parameterFields.penaltyHint}
                        {...field('penalty')}
                        inputMode="numeric"
                    />
                    <TextField
                        label={words.parameterFields.bond}
                        hint={words.parameterFields.bondHint}
                        {...amount('disputeBond')}
                    />
                </div>
            </fieldset>
            <fieldset className={styles.group}>
                <legend>{words.parameterFields.tiers}</legend>
                {Array.from({ length: TIERS }, (_, index) => (
                    <div key={index} className={styles.tier}>
                        {index < TIERS - 1 ? (
                            <TextField
                                label={words.parameterFields.tierPrice(index + 1)}
                                {...amount(`tier-${index}-price`)}
                            />
                        ) : (
                            <TextField
                                label={words.parameterFields.tierPriceOpen(TIERS)}
                                value="every higher price"
                                disabled
                            />
                        )}
                        <TextField
                            label={words.parameterFields.tierCollateral(index + 1)}
                            {...amount(`tier-${index}-collateral`)}
                        />
                    </div>
                ))}
            </fieldset>
        </>
    );
};
