// Which characters the service takes in a name: those that a reader sees, in the order in which they stand. The ranges
// are those of `crates/protocol/src/onchain/plain_text.rs`.

import { words } from '../words';

/** Invisible and misleading characters, and white space other than the plain space. */
const REFUSED =
    /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\u{110bd}\u{110cd}\u{13430}-\u{1345f}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d15a}\u{1d173}-\u{1d17a}\u{e0000}-\u{10ffff}]/u;

/** Why a text cannot be a name, or `undefined`. */
export function nameProblem(text: string, most: number): string | undefined {
    const count = Array.from(text).length;
    if (text.trim() === '') return words.name.empty;
    if (text.trim() !== text) return words.name.spaces;
    if (count > most) return words.name.tooLong(most, count);
    return REFUSED.test(text) ? words.name.hidden : undefined;
}
