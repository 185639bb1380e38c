// The fields of a key's limits: caps, end, and the agents that it may call.

import { useId } from 'react';

import { AgentPicker } from '../agent';
import { Select, TextField } from '../../shared/ui/Field';
import styles from './Keys.module.css';
import { LIFETIMES, type LimitsDraft, type LimitsProblems } from './limits';
import { words } from './words';

const t = words.limits;

/** Of the program. */
export const MAX_AGENTS = 8;

export type LimitsFieldsProps = {
    draft: LimitsDraft;
    problems: LimitsProblems;
    onChange: (change: Partial<LimitsDraft>) => void;
    /** How the end stays as it is, in words; without it there is no such choice. */
    kept?: string;
    totalHint: string;
};

export const LimitsFields = ({ draft, problems, onChange, kept, totalHint }: LimitsFieldsProps) => (
    <>
        <div className={styles.pair}>
            <TextField
                label={t.perCall}
                inputMode="decimal"
                placeholder="0.10"
                autoComplete="off"
                value={draft.perCall}
                error={problems.perCall}
                hint={t.perCallHint}
                onChange={(event) => onChange({ perCall: event.target.value })}
            />
            <TextField
                label={t.total}
                inputMode="decimal"
                placeholder="5"
                autoComplete="off"
                value={draft.total}
                error={problems.total}
                hint={totalHint}
                onChange={(event) => onChange({ total: event.target.value })}
            />
        </div>
        <div className={styles.pair}>
            <TextField
                label={t.perDay}
                inputMode="decimal"
                placeholder={words.noLimit}
                autoComplete="off"
                value={draft.daily}
                error={problems.daily}
                hint={t.perDayHint}
                onChange={(event) => onChange({ daily: event.target.value })}
            />
            <Select
                label={words.ends}
                value={draft.lifetime}
                error={draft.lifetime === 'date' ? undefined : problems.until}
                onChange={(event) => onChange({ lifetime: event.target.value })}
            >
                {kept !== undefined && <option value="keep">{kept}</option>}
                {LIFETIMES.map(([seconds, lifetime]) => (
                    <option key={seconds} value={seconds}>
                        {t.lifetimes[lifetime]}
                    </option>
                ))}
                <option value="date">{t.date}</option>
            </Select>
            {draft.lifetime === 'date' && (
                <TextField
                    label={t.dateField}
                    type="datetime-local"
                    value={draft.until}
                    error={problems.until}
                    onChange={(event) => onChange({ until: event.target.value })}
                />
            )}
        </div>
        <Reach isLimited={draft.isLimited} onChange={(isLimited) => onChange({ isLimited })} />
        {draft.isLimited && (
            <AgentPicker
                label={t.addAgent}
                hint={t.addAgentHint(MAX_AGENTS)}
                error={problems.agents}
                chosen={draft.agents}
                most={MAX_AGENTS}
                onChange={(agents) => onChange({ agents })}
            />
        )}
    </>
);

const REACHES = [
    { limited: false, label: words.everyAgent },
    { limited: true, label: t.chosenAgents },
] as const;

function Reach({ isLimited, onChange }: { isLimited: boolean; onChange: (isLimited: boolean) => void }) {
    const name = useId();
    return (
        <fieldset className={styles.choice}>
            <legend>{t.reach}</legend>
            {REACHES.map(({ limited, label }) => (
                <label key={label} className="row">
                    <input
                        type="radio"
                        name={name}
                        checked={isLimited === limited}
                        onChange={() => onChange(limited)}
                    />
                    {label}
                </label>
            ))}
        </fieldset>
    );
}
