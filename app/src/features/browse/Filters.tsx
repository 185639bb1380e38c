// Order and filters of the list. Every one of them is in the URL, so that a list can be shared and the back button
// leads to the list before.

import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { MoneyError, parseUsdc } from '../../shared/money';
import { useSoon } from '../../shared/soon';
import { short } from '../../shared/text/short';
import { TRUST } from '../../shared/trust';
import { Button } from '../../shared/ui/Button';
import { Checkbox, Select, TextField } from '../../shared/ui/Field';
import styles from './Filters.module.css';
import { type BrowseSearch, SORTS, filterCount, readSearch, sortOf, tagsOf } from './search';
import { words } from './words';

const SUCCESS_RATES = ['0.8', '0.9', '0.95', '0.99'];
const EXECUTIONS = ['1', '10', '100', '1000'];

type Change = (change: Record<string, string | undefined>, isTyped?: boolean) => void;

export function Filters({ search }: { search: BrowseSearch }) {
    const navigate = useNavigate();
    const [open, setOpen] = useState(false);
    const count = filterCount(search);
    const change: Change = (changed, isTyped = false) =>
        void navigate({
            to: '/',
            search: (previous) => readSearch({ ...previous, ...changed }),
            // Typing replaces the URL, so that the back button does not step through every pause of it.
            replace: isTyped,
            resetScroll: false,
        });
    return (
        <section aria-label={words.region} className={styles.filters}>
            <div className={styles.bar}>
                <SortSelect search={search} change={change} />
                <div className={styles.toggle}>
                    <Button aria-expanded={open} aria-controls="filters" onPress={() => setOpen(!open)}>
                        {words.filters(count)}
                    </Button>
                </div>
            </div>
            <div id="filters" className={styles.panel} data-open={open}>
                <MaxPrice search={search} change={change} />
                <MinimumSelects search={search} change={change} />
                <div className={styles.last}>
                    <Checkbox
                        label={words.verifiedOnly}
                        checked={search.verified_only === 'true'}
                        onChange={(event) => change({ verified_only: event.target.checked ? 'true' : undefined })}
                    />
                </div>
                <TagFilter search={search} change={change} />
            </div>
            {sortOf(search) === 'trust' && <p className="small muted">{TRUST}</p>}
            {count > 0 && (
                <p className="row">
                    {search.creator !== undefined && (
                        <Button onPress={() => change({ creator: undefined })}>
                            {words.creator} <span className="mono">{short(search.creator)}</span> ✕
                            <span className="visually-hidden">{words.removeFilter}</span>
                        </Button>
                    )}
                    <Button
                        look="quiet"
                        onPress={() =>
                            void navigate({
                                to: '/',
                                search: readSearch({ q: search.q, sort: search.sort, view: search.view }),
                            })
                        }
                    >
                        {words.clearFilters}
                    </Button>
                </p>
            )}
        </section>
    );
}

type PartProps = { search: BrowseSearch; change: Change };

const SortSelect = ({ search, change }: PartProps) => {
    const usual = sortOf({ ...search, sort: undefined });
    const offered = SORTS.filter((sort) => sort !== 'relevance' || search.q !== undefined);
    return (
        <Select
            label={words.order}
            value={sortOf(search)}
            onChange={({ target: { value } }) => change({ sort: value === usual ? undefined : value })}
        >
            {offered.map((sort) => (
                <option key={sort} value={sort}>
                    {words.sorts[sort]}
                </option>
            ))}
        </Select>
    );
};

function MaxPrice({ search, change }: PartProps) {
    const [text, setText] = useState(search.max_price ?? '');
    const [seen, setSeen] = useState(search.max_price);
    const [sent, setSent] = useState(search.max_price);
    if (seen !== search.max_price) {
        // The back button or a cleared filter changed the URL, and not what is typed here.
        setSeen(search.max_price);
        if (search.max_price !== sent) setText(search.max_price ?? '');
    }
    const problem = problemOf(text);
    const { soon, now } = useSoon((typed: string) => {
        const value = typed.trim() === '' ? undefined : typed.trim();
        setSent(value);
        const isLonger = search.max_price !== undefined && search.max_price === sent;
        if (problemOf(typed) === undefined && value !== search.max_price) change({ max_price: value }, isLonger);
    });
    return (
        <TextField
            label={words.maxPrice}
            inputMode="decimal"
            placeholder={words.any}
            value={text}
            error={problem}
            onChange={({ target }) => (setText(target.value), soon(target.value))}
            onBlur={() => now(text)}
            onKeyDown={(event) => event.key === 'Enter' && now(text)}
        />
    );
}

function problemOf(text: string): string | undefined {
    try {
        if (text.trim() !== '') parseUsdc(text);
        return undefined;
    } catch (error) {
        return error instanceof MoneyError ? error.message : String(error);
    }
}

const MinimumSelects = ({ search, change }: PartProps) => (
    <>
        <Select
            label={words.successRate}
            value={search.min_success_rate ?? ''}
            onChange={(event) => change({ min_success_rate: event.target.value })}
        >
            <option value="">{words.any}</option>
            {withCurrent(SUCCESS_RATES, search.min_success_rate).map((rate) => (
                <option key={rate} value={rate}>
                    {words.atLeast(`${(Number(rate) * 100).toFixed(0)}%`)}
                </option>
            ))}
        </Select>
        <Select
            label={words.executions}
            value={search.min_executions ?? ''}
            onChange={(event) => change({ min_executions: event.target.value })}
        >
            <option value="">{words.anyNumber}</option>
            {withCurrent(EXECUTIONS, search.min_executions).map((count) => (
                <option key={count} value={count}>
                    {words.atLeast(count)}
                </option>
            ))}
        </Select>
    </>
);

/** A value that someone wrote into the URL is a choice, too. */
const withCurrent = (values: string[], current: string | undefined): string[] =>
    current === undefined || values.includes(current) ? values : [...values, current];

function TagFilter({ search, change }: PartProps) {
    const { data: network } = useQuery(networkQuery);
    const chosen = tagsOf(search);
    const all = [...new Set([...(network?.tags ?? []), ...chosen])];
    const toggle = (tag: string): void => {
        const next = chosen.includes(tag) ? chosen.filter((other) => other !== tag) : [...chosen, tag];
        change({ tags: next.length === 0 ? undefined : next.join(',') });
    };
    return (
        <div role="group" aria-label={words.tags} className={styles.tags}>
            {all.map((tag) => (
                <button
                    key={tag}
                    type="button"
                    className={styles.tag}
                    aria-pressed={chosen.includes(tag)}
                    onClick={() => toggle(tag)}
                >
                    {tag}
                </button>
            ))}
        </div>
    );
}
