// What some refusals of the program mean for the user, and what to do. The program's own words say what is wrong; these
// say the way on where it does not follow from them.

/** The framework adds this to the program's numbers. */
const FIRST = 6_000;

/** By the program's number (`MarketplaceError`). */
const MEANINGS: Readonly<Record<number, string>> = {
    10: 'The guardian stops new calls, new listings and agents. Only the admin resumes them.',
    113: 'Choose a key that has none of these roles.',
    152: 'Letters of several scripts can look like those of another name, so such a name gets no badge. The creator chooses a name with letters of one script, and asks again.',
    217: 'The admin or the guardian of the marketplace has stopped new calls of this agent, and only the admin resumes it. Choose another agent.',
    313: 'Only the gateway hands in a failure that the creator has signed. A creator reports a failure itself, without a signed text.',
    610: 'The key has spent what its owner allows for one day. It can pay again from 00:00 UTC on, or as soon as its owner raises the limit.',
};

/** The meaning of a transaction's error as the node names it; `null` if there is nothing to add. */
export function meaningOf(error: unknown): string | null {
    const code = customCode(error);
    return code === null ? null : (MEANINGS[code - FIRST] ?? null);
}

/** `{InstructionError: [2, {Custom: 6217}]}`. */
function customCode(error: unknown): number | null {
    if (typeof error !== 'object' || error === null || !('InstructionError' in error)) return null;
    const [, inner] = error.InstructionError as readonly [unknown, unknown];
    if (typeof inner !== 'object' || inner === null || !('Custom' in inner)) return null;
    return Number(inner.Custom);
}
