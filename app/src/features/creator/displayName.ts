// The rule for a creator's display name: the same as `check_display_name` of the program.

import { nameProblem } from '../../shared/text/plain';

const MAX_BYTES = 32;
/** A mark in front, or more than two combining marks in a row. */
const MARKS = /^\p{M}|\p{M}{3}/u;

/** Why the program would refuse the name, or `undefined`. */
export function displayNameProblem(name: string): string | undefined {
    const bytes = new TextEncoder().encode(name).length;
    if (bytes > MAX_BYTES)
        return `A name has at most ${MAX_BYTES} bytes, and this one has ${bytes}. Letters beyond ASCII take two to four.`;
    const problem = nameProblem(name, MAX_BYTES);
    if (problem !== undefined) return problem;
    return MARKS.test(name)
        ? 'A letter has at most two accents or other marks of its own, and a name does not begin with one.'
        : undefined;
}
