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
                <legend>{words.parameterFields.feeAndLowestPrice}</legend>
                <div className={styles.fields}>
                    <TextField
                        label={words.parameterFields.feePercentOfAPayment}
                        hint={words.parameterFields.n0To5}
                        {...amount('fee')}
                    />
                    <TextField
                        label={words.parameterFields.lowestPriceOfACallUsdc}
                        hint={words.parameterFields.itsFeeIsAtLeast0}
                        {...amount('minPrice')}
                    />
                </div>
            </fieldset>
            <fieldset className={styles.group}>
                <legend>{words.parameterFields.timesPenaltyAndBond}</legend>
                <div className={styles.fields}>
                    <TextField
                        label={words.parameterFields.disputeWindow}
                        hint={words.parameterFields.n3To14DaysAfterAn}
                        {...field('disputeWindow')}
                    />
                    <TextField
                        label={words.parameterFields.settlementGrace}
                        hint={words.parameterFields.n0STo1DAfter}
                        {...field('settleGrace')}
                    />
                    <TextField
                        label={words.parameterFields.highestPenalty}
                        hint={words.parameterFields.n1To100TimesTheAmount}
                        {...field('penalty')}
                        inputMode="numeric"
                    />
                    <TextField
                        label={words.parameterFields.bondOfADisputeUsdc}
                        hint={words.parameterFields.n0To1}
                        {...amount('disputeBond')}
                    />
                </div>
            </fieldset>
            <fieldset className={styles.group}>
                <legend>{words.parameterFields.collateralByPrice}</legend>
                {Array.from({ length: TIERS }, (_, index) => (
                    <div key={index} className={styles.tier}>
                        {index < TIERS - 1 ? (
                            <TextField
                                label={words.parameterFields.tierForAPriceUpTo(index + 1)}
                                {...amount(`tier-${index}-price`)}
                            />
                        ) : (
                            <TextField
                                label={words.parameterFields.tierForAPriceUpTo2(TIERS)}
                                value="every higher price"
                                disabled
                            />
                        )}
                        <TextField
                            label={words.parameterFields.tierCollateralUsdc(index + 1)}
                            {...amount(`tier-${index}-collateral`)}
                        />
                    </div>
                ))}
            </fieldset>
        </>
    );
};
