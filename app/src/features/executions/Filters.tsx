// Role and filters of the list. Every one of them is in the URL, so that a list can be shared and the back button leads
// to the list before.

import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { AgentPicker } from '../agent';
import { Button } from '../../shared/ui/Button';
import { Chips } from '../../shared/ui/Chips';
import { useSoon } from '../../shared/soon';
import { TextField } from '../../shared/ui/Field';
import { statusName } from '../../shared/ui/StatusBadge';
import styles from './Executions.module.css';
import { RANGES, isRange, startOf } from './ranges';
import { type ExecutionsSearch, STATUSES, filterCount, localText, momentOfLocal, readSearch } from './search';
import type { Totals } from '../../shared/api/totals';
import { words } from './words';

type Change = Partial<Record<keyof ExecutionsSearch, string | undefined>>;
type ChangeSearch = (changed: Change, isTyped?: boolean) => void;

const ROLES = ['caller', 'creator'] as const;

function useChange(): ChangeSearch {
    const navigate = useNavigate();
    return (changed, isTyped = false) =>
        // The back button does not lead through every pause of the typing.
        void navigate({
            to: '/executions',
            search: (previous) => readSearch({ ...previous, ...changed }),
            replace: isTyped,
            resetScroll: false,
        });
}

export function RoleChoice({ search }: { search: ExecutionsSearch }) {
    const change = useChange();
    return (
        <Chips
            label={words.role}
            chips={ROLES.map((role) => ({ value: role, name: words.roles[role] }))}
            isChosen={(role) => role === (search.role ?? 'caller')}
            onChoose={(role) => change({ role })}
        />
    );
}

export function Filters({ search, totals }: { search: ExecutionsSearch; totals: Totals | undefined }) {
    const change = useChange();
    const countOf = (status: (typeof STATUSES)[number]): number | undefined =>
        totals && (totals.groups.find((group) => group.status === status)?.executions ?? 0);
    return (
        <section aria-label={words.filters} className={styles.filters}>
            <Chips
                label={words.range}
                chips={RANGES.map((range) => ({ value: range, name: words.ranges[range] }))}
                isChosen={(range) => isRange(search, range)}
                onChoose={(range) => change({ from: startOf(range), to: undefined })}
            />
            <Chips
                label={words.status}
                chips={[
                    { value: '', name: words.everyStatus, count: totals?.total.executions },
                    ...STATUSES.map((status) => ({
                        value: status,
                        name: statusName(status),
                        count: countOf(status),
                    })),
                ]}
                isChosen={(status) => status === (search.status ?? '')}
                onChoose={(status) => change({ status })}
            />
            <Exact search={search} change={change} />
            {filterCount(search) > 0 && (
                <p>
                    <Button
                        look="quiet"
                        onPress={() =>
                            change({ status: undefined, agent_id: undefined, from: undefined, to: undefined })
                        }
                    >
                        {words.clearFilters}
                    </Button>
                </p>
            )}
        </section>
    );
}

/** Folded: most readers need the chips alone. */
function Exact({ search, change }: { search: ExecutionsSearch; change: ChangeSearch }) {
    const { from, to, agent_id: agentId } = search;
    const [isOpen, setOpen] = useState(agentId !== undefined || to !== undefined);
    const isReversed = from !== undefined && to !== undefined && from >= to;
    return (
        <details className={styles.fold} open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
            <summary>{words.moreFilters}</summary>
            <div className={styles.exact}>
                <AgentPicker
                    label={words.agent}
                    most={1}
                    chosen={agentId === undefined ? [] : [agentId]}
                    onChange={([chosen]) => change({ agent_id: chosen })}
                />
                <Moment
                    label={words.after}
                    moment={from}
                    onChange={(moment, isLonger) => change({ from: moment }, isLonger)}
                />
                <Moment
                    label={words.before}
                    moment={to}
                    problem={isReversed ? words.reversed : undefined}
                    onChange={(moment, isLonger) => change({ to: moment }, isLonger)}
                />
            </div>
        </details>
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
