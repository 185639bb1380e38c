// Text that strangers wrote, cut into what is shown as it is and characters that would be invisible or change the order
// of what stands around them. Those are shown by their number.

/** A piece of ordinary text, or a run of one hidden character. */
export type Piece = { readonly text: string } | { readonly hidden: string };

/** Longest run of marks over one letter; more of them paint over the lines around. */
const MAX_MARKS = 4;

const HIDDEN =
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufff9-\ufffd]/u;
const SPACE = new Set(['\n', '\t']);
const JOINER = '\u200d';
const NON_JOINER = '\u200c';
const EMOJI = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u;
const JOINING_SCRIPT =
    /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Gujarati}\p{Script=Gurmukhi}\p{Script=Sinhala}\p{Script=Mongolian}\p{M}]/u;
const MARK = /\p{M}/u;

export function piecesOf(text: string): Piece[] {
    const characters = Array.from(text);
    const pieces: Piece[] = [];
    let [plain, marks] = ['', 0];
    characters.forEach((character, index) => {
        marks = MARK.test(character) && character !== '\ufe0f' ? marks + 1 : 0;
        const shown = marks <= MAX_MARKS && isShown(character, characters[index - 1], characters[index + 1]);
        if (shown) {
            plain += character;
            return;
        }
        const last = plain === '' ? pieces.at(-1) : undefined;
        if (plain !== '') pieces.push({ text: plain });
        plain = '';
        if (last !== undefined && 'hidden' in last && last.hidden.startsWith(character)) {
            pieces[pieces.length - 1] = { hidden: last.hidden + character };
        } else {
            pieces.push({ hidden: character });
        }
    });
    if (plain !== '') pieces.push({ text: plain });
    return pieces;
}

/** Joiners are ordinary inside of an emoji and between letters of scripts that join. */
function isShown(character: string, before: string | undefined, after: string | undefined): boolean {
    if (SPACE.has(character) || !HIDDEN.test(character)) return true;
    if (before === undefined || after === undefined) return false;
    if (character === JOINER && EMOJI.test(before) && EMOJI.test(after)) return true;
    return (
        (character === JOINER || character === NON_JOINER) && JOINING_SCRIPT.test(before) && JOINING_SCRIPT.test(after)
    );
}

/** `U+202E`, or `U+202E×5` for five of them. */
export function nameOf(run: string): string {
    const [character = ''] = run;
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const count = run.length / Math.max(character.length, 1);
    return count > 1 ? `U+${code}\u00d7${count}` : `U+${code}`;
}

/** The text with hidden characters by their number, for titles and labels. */
export const visible = (text: string): string =>
    piecesOf(text)
        .map((piece) => ('text' in piece ? piece.text : `[${nameOf(piece.hidden)}]`))
        .join('');
