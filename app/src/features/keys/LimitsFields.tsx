// The fields of a key's limits: caps, end, and the agents that it may call.

import { useId } from 'react';

import { AgentPicker } from '../agent';
import { Select, TextField } from '../../shared/ui/Field';
import styles from './Keys.module.css';
import { LIFETIMES, type LimitsDraft, type LimitsProblems } from './limits';

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
                label="Most for one call (USDC)"
                inputMode="decimal"
                placeholder="0.10"
                autoComplete="off"
                value={draft.perCall}
                error={problems.perCall}
                hint="A call with a higher price is refused."
                onChange={(event) => onChange({ perCall: event.target.value })}
            />
            <TextField
                label="Most for all calls together (USDC)"
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
                label="Most for one day (USDC)"
                inputMode="decimal"
                placeholder="No limit"
                autoComplete="off"
                value={draft.daily}
                error={problems.daily}
                hint="Optional. For all calls of one day, which begins at 00:00 UTC. Empty: no limit for a day."
                onChange={(event) => onChange({ daily: event.target.value })}
            />
            <Select
                label="Ends"
                value={draft.lifetime}
                error={draft.lifetime === 'date' ? undefined : problems.until}
                onChange={(event) => onChange({ lifetime: event.target.value })}
            >
                {kept !== undefined && <option value="keep">{kept}</option>}
                {LIFETIMES.map(([seconds, words]) => (
                    <option key={seconds} value={seconds}>{`${words} from now`}</option>
                ))}
                <option value="date">At a date of your choice</option>
            </Select>
            {draft.lifetime === 'date' && (
                <TextField
                    label="Last moment, in your time zone"
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
                label="Add an agent"
                hint={`Up to ${MAX_AGENTS} agents.`}
                error={problems.agents}
                chosen={draft.agents}
                most={MAX_AGENTS}
                onChange={(agents) => onChange({ agents })}
            />
        )}
    </>
);

const REACHES = [
    { limited: false, words: 'Every agent' },
    { limited: true, words: 'Only agents that I choose' },
] as const;

function Reach({ isLimited, onChange }: { isLimited: boolean; onChange: (isLimited: boolean) => void }) {
    const name = useId();
    return (
        <fieldset className={styles.choice}>
            <legend>Agents that it may call</legend>
            {REACHES.map(({ limited, words }) => (
                <label key={words} className="row">
                    <input
                        type="radio"
                        name={name}
                        checked={isLimited === limited}
                        onChange={() => onChange(limited)}
                    />
                    {words}
                </label>
            ))}
        </fieldset>
    );
}
