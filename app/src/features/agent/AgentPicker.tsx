// Choosing agents: a search as you type with what it finds below, and the chosen ones, each with a way to take it out.

import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

import { api, body } from '../../shared/api/client';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { Button } from '../../shared/ui/Button';
import { TextField } from '../../shared/ui/Field';
import styles from './AgentPicker.module.css';
import { agentQuery } from './query';

/** Between the last key and the search. */
const PAUSE_MS = 180;
const OFFERED = 5;
const MAX_CHARACTERS = 200;

const searchQuery = (q: string) =>
    queryOptions({
        queryKey: ['agents', 'pick', q] as const,
        queryFn: ({ signal }) => body(api.GET('/v1/agents', { params: { query: { q, limit: OFFERED } }, signal })),
        enabled: q !== '',
        placeholderData: keepPreviousData,
    });

export type AgentPickerProps = {
    label: string;
    hint?: string | undefined;
    error?: string | undefined;
    /** Addresses of agents. */
    chosen: readonly string[];
    most: number;
    onChange: (chosen: string[]) => void;
};

export function AgentPicker({ label, hint, error, chosen, most, onChange }: AgentPickerProps) {
    const [text, setText] = useState('');
    const q = useSettled(text.trim().slice(0, MAX_CHARACTERS));
    const isFull = chosen.length >= most && most > 1;
    const pick = (agentId: string): void => {
        onChange(most === 1 ? [agentId] : [...chosen.filter((other) => other !== agentId), agentId]);
        setText('');
    };
    return (
        <div className={styles.picker}>
            {chosen.length > 0 && (
                <ul className={styles.chosen} aria-label={`${label}: chosen`}>
                    {chosen.map((agentId) => (
                        <li key={agentId}>
                            <Button onPress={() => onChange(chosen.filter((other) => other !== agentId))}>
                                <AgentName agentId={agentId} /> <span aria-hidden="true">✕</span>
                                <span className="visually-hidden">: take out</span>
                            </Button>
                        </li>
                    ))}
                </ul>
            )}
            <TextField
                label={label}
                hint={isFull ? `These are all ${most} that fit. Take one out to choose another.` : hint}
                error={error}
                type="search"
                autoComplete="off"
                placeholder="Search by name or words"
                maxLength={MAX_CHARACTERS}
                disabled={isFull}
                value={text}
                onChange={(event) => setText(event.target.value)}
                onKeyDown={(event) => {
                    // Enter searches here, and does not submit the form around this field.
                    if (event.key === 'Enter') event.preventDefault();
                }}
            />
            <Found q={q} chosen={chosen} onPick={pick} />
        </div>
    );
}

function Found({ q, chosen, onPick }: { q: string; chosen: readonly string[]; onPick: (agentId: string) => void }) {
    const { data, error } = useQuery(searchQuery(q));
    const offers = q === '' ? [] : (data?.agents ?? []).filter(({ agent_id }) => !chosen.includes(agent_id));
    const said =
        q === ''
            ? ''
            : error
              ? 'The search does not answer. Type again.'
              : data === undefined
                ? 'Searching …'
                : offers.length === 0
                  ? 'No other agent matches.'
                  : '';
    return (
        <>
            <p role="status" className={said === '' ? 'visually-hidden' : 'small muted'}>
                {said === '' && offers.length > 0 ? `${offers.length} found` : said}
            </p>
            {offers.length > 0 && (
                <ul className={styles.found}>
                    {offers.map(({ agent_id, name, price_per_call_usdc: price }) => (
                        <li key={agent_id}>
                            <button type="button" className={styles.offer} onClick={() => onPick(agent_id)}>
                                <span>
                                    <UserText text={name} /> <span className="small muted mono">{short(agent_id)}</span>
                                </span>
                                <span className="number small">{formatUsdc(price)} USDC</span>
                            </button>
                        </li>
                    ))}
                </ul>
            )}
        </>
    );
}

/** The name of an agent; its address until the service says the name, or if it shows no such agent. */
export function AgentName({ agentId }: { agentId: string }) {
    const { data } = useQuery({ ...agentQuery(agentId), retry: false, staleTime: 60_000 });
    return data === undefined ? <span className="mono">{short(agentId)}</span> : <UserText text={data.name} />;
}

function useSettled(text: string): string {
    const [settled, setSettled] = useState(text);
    useEffect(() => {
        const timer = setTimeout(() => setSettled(text), text === '' ? 0 : PAUSE_MS);
        return () => clearTimeout(timer);
    }, [text]);
    return settled;
}
