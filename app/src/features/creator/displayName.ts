// The rule for a creator's display name: the same as `check_display_name` of the program.

import { nameProblem } from '../../shared/text/plain';
import { words } from './words';

const MAX_BYTES = 32;
/** A mark in front, or more than two combining marks in a row. */
const MARKS = /^\p{M}|\p{M}{3}/u;

/** Why the program would refuse the name, or `undefined`. */
export function displayNameProblem(name: string): string | undefined {
    const bytes = new TextEncoder().encode(name).length;
    if (bytes > MAX_BYTES) return words.profile.tooLong(MAX_BYTES, bytes);
    const problem = nameProblem(name, MAX_BYTES);
    if (problem !== undefined) return problem;
    return MARKS.test(name) ? words.profile.marks : undefined;
}
