// Text that strangers wrote, as text: never as markup, isolated from the direction of what stands around it, broken
// wherever it would overflow, with hidden characters made visible, and cut where it is too long to show at once.

import { useState } from 'react';

import { Button } from '../ui/Button';
import styles from './UserText.module.css';
import { nameOf, piecesOf } from './visible';

const MAX_CHARACTERS = 20_000;
/** Names, taglines and tags are shorter; what is longer is a mistake or an attack. */
const MAX_IN_LINE = 400;

const Pieces = ({ text }: { text: string }) =>
    piecesOf(text).map((piece, index) =>
        'text' in piece ? (
            piece.text
        ) : (
            <span key={index} className={styles.hidden}>
                {nameOf(piece.hidden)}
            </span>
        ),
    );

export type UserTextProps = { text: string };

/** Within a line: a name, a tag. */
export const UserText = ({ text }: UserTextProps) => (
    <bdi className={styles.inline}>
        <Pieces text={text.length > MAX_IN_LINE ? `${text.slice(0, MAX_IN_LINE)}\u2026` : text} />
    </bdi>
);

/** A text of its own with its line breaks. `code`: in the font of code. */
export function UserBlock({ text, code = false }: UserTextProps & { code?: boolean }) {
    const [all, setAll] = useState(false);
    const shown = all ? text : text.slice(0, MAX_CHARACTERS);
    return (
        <>
            <div dir="auto" className={`${styles.block} ${code ? styles.code : ''}`}>
                <Pieces text={shown} />
            </div>
            {shown.length < text.length && (
                <p>
                    <Button onPress={() => setAll(true)}>Show all {text.length.toLocaleString('en')} characters</Button>
                </p>
            )}
        </>
    );
}
