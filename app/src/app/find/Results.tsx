// The field of the search and what it found. The focus stays in the field while the arrow keys go through the list.

import type { ReactNode } from 'react';
import { Autocomplete } from 'react-aria-components/Autocomplete';
import { Header } from 'react-aria-components/Header';
import { Input } from 'react-aria-components/Input';
import { Menu, MenuItem, MenuSection } from 'react-aria-components/Menu';
import { SearchField } from 'react-aria-components/SearchField';

import type { Schemas } from '../../shared/api/client';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { visible } from '../../shared/text/visible';
import { words } from '../words';
import type { Entry, Section } from './entries';
import styles from './Find.module.css';

const { find } = words;

export type ResultsProps = {
    text: string;
    onText: (text: string) => void;
    sections: readonly Section[];
    agents: readonly Schemas['AgentSummary'][];
    isAsking: boolean;
    failed: boolean;
    onChoose: (entry: Entry) => void;
};

export function Results({ text, onText, sections, agents, isAsking, failed, onChoose }: ResultsProps) {
    const remark = failed ? find.failed : isAsking ? find.asking : find.nothing;
    const count = agents.length + sections.reduce((sum, { entries }) => sum + entries.length, 0);
    const [first, ...others] = sections;
    const open = first?.id === 'open' ? first : undefined;
    return (
        <Autocomplete inputValue={text} onInputChange={onText}>
            <SearchField className={styles.field ?? ''} aria-label={find.name}>
                <Input className={styles.input ?? ''} placeholder={find.placeholder} autoFocus maxLength={200} />
            </SearchField>
            <p role="status" className={count === 0 || failed ? styles.remark : 'visually-hidden'}>
                {count === 0 || failed ? remark : find.found(count)}
            </p>
            <Menu aria-label={find.results} className={styles.menu ?? ''}>
                {open && <EntrySection section={open} onChoose={onChoose} />}
                {agents.length > 0 && (
                    <MenuSection id="agents">
                        <Header className={styles.title ?? ''}>{find.sections.agents}</Header>
                        {agents.map((agent) => (
                            <AgentItem key={agent.agent_id} agent={agent} onChoose={onChoose} />
                        ))}
                    </MenuSection>
                )}
                {(open ? others : sections).map((section) => (
                    <EntrySection key={section.id} section={section} onChoose={onChoose} />
                ))}
            </Menu>
        </Autocomplete>
    );
}

type OnChoose = { onChoose: (entry: Entry) => void };

const EntrySection = ({ section: { id, entries }, onChoose }: { section: Section } & OnChoose) => (
    <MenuSection id={id}>
        <Header className={styles.title ?? ''}>{find.sections[id]}</Header>
        {entries.map((entry) => (
            <Item key={entry.id} id={entry.id} name={entry.label} hint={entry.hint} onAction={() => onChoose(entry)}>
                {entry.label}
            </Item>
        ))}
    </MenuSection>
);

const AgentItem = ({ agent, onChoose }: { agent: Schemas['AgentSummary'] } & OnChoose) => (
    <Item
        id={`agent-${agent.agent_id}`}
        name={visible(agent.name)}
        hint={find.price(formatUsdc(agent.price_per_call_usdc))}
        onAction={() =>
            onChoose({ id: agent.agent_id, label: agent.name, to: `/agents/${encodeURIComponent(agent.agent_id)}` })
        }
    >
        <UserText text={agent.name} />
    </Item>
);

type ItemProps = {
    id: string;
    name: string;
    hint: string | undefined;
    onAction: () => void;
    children: ReactNode;
};

const Item = ({ id, name, hint, onAction, children }: ItemProps) => (
    <MenuItem id={id} textValue={name} className={styles.item ?? ''} onAction={onAction}>
        <span className={styles.label}>{children}</span>
        {hint !== undefined && <span className={styles.hint}>{hint}</span>}
    </MenuItem>
);
