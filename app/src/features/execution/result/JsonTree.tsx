// JSON as a tree that opens level by level. Closed levels are not in the page, and long lists are shown in parts, so
// that large JSON costs only what the user opens.

import { useState } from 'react';

import { UserText } from '../../../shared/text/UserText';
import { Button } from '../../../shared/ui/Button';
import { words } from '../words';
import styles from './JsonTree.module.css';

const w = words.result;

/** Members that are shown at once. */
const PART = 50;
/** Characters of a text that are shown at once. */
const MAX_TEXT = 2_000;
/** Characters of a name. */
const MAX_NAME = 200;

export type JsonTreeProps = { value: unknown; /** Levels that are open at first. */ open: number };

export const JsonTree = ({ value, open }: JsonTreeProps) =>
    isBranch(value) ? <Members value={value} open={open} /> : <Leaf value={value as Plain} />;

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;

function Members({ value, open }: { value: object; open: number }) {
    const [shown, setShown] = useState(PART);
    const names = Array.isArray(value) ? null : Object.keys(value);
    const count = names?.length ?? (value as unknown[]).length;
    if (count === 0) return <span className="muted">{names === null ? w.emptyList : w.emptyObject}</span>;
    const visibleCount = Math.min(shown, count);
    const part =
        names === null
            ? Array.from({ length: visibleCount }, (_, index) => String(index))
            : names.slice(0, visibleCount);
    return (
        <>
            <ul className={styles.members}>
                {part.map((name) => (
                    <Member
                        key={name}
                        name={name}
                        isIndex={names === null}
                        value={(value as Record<string, unknown>)[name]}
                        open={open - 1}
                    />
                ))}
            </ul>
            {count > shown && (
                <Button look="text" onPress={() => setShown(shown + 4 * PART)}>
                    {w.more(count)}
                </Button>
            )}
        </>
    );
}

type MemberProps = { name: string; isIndex: boolean; value: unknown; open: number };

function Member({ name, isIndex, value, open }: MemberProps) {
    const [isOpen, setOpen] = useState(open > 0);
    const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}\u2026` : name;
    const label = isIndex ? <span className="muted number">{Number(name) + 1}</span> : <UserText text={short} />;
    if (!isBranch(value)) {
        return (
            <li className={`${styles.leaf} ${isIndex ? styles.entry : ''}`}>
                <span className={styles.name}>{label}</span> <Leaf value={value as Plain} />
            </li>
        );
    }
    const count = Object.keys(value).length;
    return (
        <li>
            <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                <span aria-hidden="true" className={styles.arrow}>
                    {isOpen ? '▾' : '▸'}
                </span>
                <span className={styles.name}>{label}</span>
                <span className="small muted">{Array.isArray(value) ? w.entries(count) : w.members(count)}</span>
            </button>
            {isOpen && <Members value={value} open={open} />}
        </li>
    );
}

/** What JSON has besides arrays and objects. */
type Plain = string | number | boolean | null;

function Leaf({ value }: { value: Plain }) {
    const [all, setAll] = useState(false);
    if (typeof value !== 'string') return <span className={styles.plain}>{String(value)}</span>;
    if (value === '') return <span className="muted">{w.emptyText}</span>;
    const isCut = !all && value.length > MAX_TEXT;
    return (
        <span className={styles.text}>
            <UserText text={isCut ? value.slice(0, MAX_TEXT) : value} />
            {isCut && (
                <Button look="text" onPress={() => setAll(true)}>
                    {w.whole(value.length)}
                </Button>
            )}
        </span>
    );
}
