// What changed between two texts, line by line: equal lines at both ends are left out up to a few, and what is between
// them is shown as removed and added. Enough for schemas and descriptions, and never slow.

import { words } from './words';

export type Line = { readonly kind: 'same' | 'removed' | 'added' | 'left out'; readonly text: string };

/** Equal lines that are shown around a change. */
const AROUND = 2;
/** Lines of one side that are shown; a longer change is cut. */
const MOST = 400;

export function lineDiff(before: string, after: string): Line[] {
    const [old, next] = [before.split('\n'), after.split('\n')];
    const most = Math.min(old.length, next.length);
    let start = 0;
    while (start < most && old[start] === next[start]) start += 1;
    let end = 0;
    while (end < most - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1;
    const last = old.length - end;
    return [
        ...leftOut(start - AROUND),
        ...lines('same', old.slice(Math.max(0, start - AROUND), start)),
        ...lines('removed', old.slice(start, last)),
        ...lines('added', next.slice(start, next.length - end)),
        ...lines('same', old.slice(last, last + AROUND)),
        ...leftOut(end - AROUND),
    ];
}

const lines = (kind: Line['kind'], texts: readonly string[]): Line[] => [
    ...texts.slice(0, MOST).map((text) => ({ kind, text })),
    ...leftOut(texts.length - MOST),
];

const leftOut = (count: number): Line[] =>
    count <= 0 ? [] : [{ kind: 'left out', text: words.lineDiff.leftOut(count, count === 1 ? 'line' : 'lines') }];
