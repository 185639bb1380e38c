// What some refusals of the program mean for the user, and what to do. The program's own words say what is wrong; these
// say the way on where it does not follow from them.

import { words } from './words';

/** The framework adds this to the program's numbers. */
const FIRST = 6_000;

/** The meaning of a transaction's error as the node names it; `null` if there is nothing to add. */
export function meaningOf(error: unknown): string | null {
    const code = customCode(error);
    return code === null ? null : (words.refused.meanings[code - FIRST] ?? null);
}

/** `{InstructionError: [2, {Custom: 6217}]}`. */
function customCode(error: unknown): number | null {
    if (typeof error !== 'object' || error === null || !('InstructionError' in error)) return null;
    const [, inner] = error.InstructionError as readonly [unknown, unknown];
    if (typeof inner !== 'object' || inner === null || !('Custom' in inner)) return null;
    return Number(inner.Custom);
}
