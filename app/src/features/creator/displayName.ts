// The rule for a creator's display name: the same as `check_display_name` of the program.

import { nameProblem } from '../../shared/text/plain';

const MAX_BYTES = 32;

/** Why the program would refuse the name, or `undefined`. */
export function displayNameProblem(name: string): string | undefined {
    const bytes = new TextEncoder().encode(name).length;
    if (bytes > MAX_BYTES)
        return `A name has at most ${MAX_BYTES} bytes, and this one has ${bytes}. Letters beyond ASCII take two to four.`;
    return nameProblem(name, MAX_BYTES);
}
