// Role and filters of the list. Every one of them is in the URL, so that a list can be shared and the back button leads
// to the list before.

import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { AgentPicker } from '../agent';
import { Button } from '../../shared/ui/Button';
import { useSoon } from '../../shared/soon';
import { Select, TextField } from '../../shared/ui/Field';
import styles from './Executions.module.css';
import { type ExecutionsSearch, STATUSES, filterCount, localText, momentOfLocal, readSearch } from './search';

type Change = Partial<Record<keyof ExecutionsSearch, string | undefined>>;

export function Filters({ search }: { search: ExecutionsSearch }) {
    const navigate = useNavigate();
    const change = (changed: Change, isTyped = false): void =>
        // The back button does not lead through every pause of the typing.
        void navigate({
            to: '/executions',
            search: (previous) => readSearch({ ...previous, ...changed }),
            replace: isTyped,
            resetScroll: false,
        });
    const { from, to } = search;
    const isReversed = from !== undefined && to !== undefined && from >= to;
    return (
        <section aria-label="Filters" className="stack">
            <div className={styles.filters}>
                <Select
                    label="Executions"
                    value={search.role ?? 'caller'}
                    onChange={(event) => change({ role: event.target.value })}
                >
                    <option value="caller">Calls that I paid for</option>
                    <option value="creator">Calls of my agents</option>
                </Select>
                <Select
                    label="State"
                    value={search.status ?? ''}
                    onChange={(event) => change({ status: event.target.value })}
                >
                    <option value="">Every state</option>
                    {Object.entries(STATUSES).map(([status, words]) => (
                        <option key={status} value={status}>
                            {words}
                        </option>
                    ))}
                </Select>
                <AgentPicker
                    label="Agent"
                    most={1}
                    chosen={search.agent_id === undefined ? [] : [search.agent_id]}
                    onChange={([agentId]) => change({ agent_id: agentId })}
                />
                <Moment
                    label="Started after"
                    moment={from}
                    onChange={(moment, isLonger) => change({ from: moment }, isLonger)}
                />
                <Moment
                    label="Started before"
                    moment={to}
                    problem={isReversed ? 'This is not later than the other one, so nothing can match.' : undefined}
                    onChange={(moment, isLonger) => change({ to: moment }, isLonger)}
                />
            </div>
            {filterCount(search) > 0 && (
                <p>
                    <Button
                        look="quiet"
                        onPress={() =>
                            change({ status: undefined, agent_id: undefined, from: undefined, to: undefined })
                        }
                    >
                        Clear all filters
                    </Button>
                </p>
            )}
        </section>
    );
}

type MomentProps = {
    label: string;
    moment: string | undefined;
    problem?: string | undefined;
    onChange: (moment: string | undefined, isLonger: boolean) => void;
};

/** In the reader's time zone. Half of a date is no filter. */
function Moment({ label, moment, problem, onChange }: MomentProps) {
    const [text, setText] = useState(localText(moment));
    const [seen, setSeen] = useState(moment);
    const [sent, setSent] = useState(moment);
    if (seen !== moment) {
        // The URL changed. For another reason than what is typed here: the back button, or a cleared filter.
        setSeen(moment);
        if (moment !== sent) setText(localText(moment));
    }
    const { soon, now } = useSoon((typed: string) => {
        const next = momentOfLocal(typed);
        setSent(next);
        if (next !== moment) onChange(next, moment !== undefined && moment === sent);
    });
    return (
        <TextField
            label={label}
            type="datetime-local"
            error={problem}
            value={text}
            onChange={({ target }) => {
                setText(target.value);
                if (!target.validity.badInput) soon(target.value);
            }}
            onBlur={({ target }) => !target.validity.badInput && now(text)}
            onKeyDown={({ key, currentTarget }) => key === 'Enter' && !currentTarget.validity.badInput && now(text)}
        />
    );
}
