// Which problems of a form are shown: those of fields that the user has left, and all of them once the user pressed the
// button that leads on.

import { useState } from 'react';

import { EMPTY, FIELD_NAMES, type FieldName, type Fields, type Problems, isSame } from './form/fields';

export type ShownProblems = {
    readonly shown: Problems;
    /** For the element around the inputs. */
    readonly onBlur: () => void;
    readonly showAll: () => void;
};

export function useShownProblems(fields: Fields, problems: Problems): ShownProblems {
    const [known, setKnown] = useState<ReadonlySet<FieldName>>(new Set());
    const written = FIELD_NAMES.filter((name) => !isSame(fields[name], EMPTY[name]));
    return {
        shown: Object.fromEntries(Object.entries(problems).filter(([name]) => known.has(name as FieldName))),
        onBlur: () => setKnown(new Set([...known, ...written])),
        showAll: () => setKnown(new Set(FIELD_NAMES)),
    };
}
