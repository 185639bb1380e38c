// The draft of a new agent, for components: kept in this browser with each change.

import type { Address } from '@solana/kit';
import { useRef, useState } from 'react';

import { BLANK_DRAFT, type NewDraft, newDraft, putNewDraft, removeNewDraft } from './draft';
import type { Fields } from './form/fields';

export type UseDraft = {
    readonly draft: NewDraft;
    /** Why nothing is kept, or `null`. */
    readonly problem: unknown;
    readonly update: (change: Partial<NewDraft>) => void;
    readonly set: (change: Partial<Fields>) => void;
    /** Keeps the change before it returns, or throws. */
    readonly keep: (change: Partial<NewDraft>) => void;
    readonly clear: () => void;
};

export function useNewDraft(wallet: Address): UseDraft {
    const [draft, setDraft] = useState(() => newDraft(wallet));
    const [problem, setProblem] = useState<unknown>(null);
    // Several changes can come before the next rendering.
    const latest = useRef(draft);
    const keep = (change: Partial<NewDraft>): void => {
        latest.current = { ...latest.current, ...change };
        setDraft(latest.current);
        putNewDraft(wallet, latest.current);
    };
    const update = (change: Partial<NewDraft>): void => {
        try {
            keep(change);
            setProblem(null);
        } catch (error) {
            setProblem(error);
        }
    };
    const clear = (): void => {
        removeNewDraft(wallet);
        latest.current = BLANK_DRAFT;
        setDraft(BLANK_DRAFT);
    };
    return {
        draft,
        problem,
        update,
        keep,
        clear,
        set: (change) => update({ fields: { ...latest.current.fields, ...change } }),
    };
}
