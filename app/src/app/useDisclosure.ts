// Parts of one place that open below their buttons, one at a time. Each closes with Escape, a press elsewhere, or when the
// focus leaves the place.

import { type FocusEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';

export type Disclosure<Name extends string> = {
    readonly open: Name | null;
    /** Contains the buttons and what they open. */
    readonly home: RefObject<HTMLElement | null>;
    readonly toggle: (name: Name, button: HTMLElement) => void;
    readonly close: () => void;
    readonly handlers: {
        readonly onKeyDown: (event: KeyboardEvent) => void;
        readonly onBlur: (event: FocusEvent) => void;
    };
};

export function useDisclosure<Name extends string>(): Disclosure<Name> {
    const [open, setOpen] = useState<Name | null>(null);
    const button = useRef<HTMLElement>(null);
    const home = useRef<HTMLElement>(null);
    const isOpen = open !== null;
    useEffect(() => {
        if (!isOpen) return;
        const pressed = ({ target }: PointerEvent): void => {
            if (target instanceof Node && home.current?.contains(target) === false) setOpen(null);
        };
        document.addEventListener('pointerdown', pressed);
        return () => document.removeEventListener('pointerdown', pressed);
    }, [isOpen]);
    /** Gives the focus back to the button, because the link that had it is hidden. A new page takes the focus itself. */
    const close = (): void => {
        if (isOpen) button.current?.focus();
        setOpen(null);
    };
    const toggle = (name: Name, pressed: HTMLElement): void => {
        button.current = pressed;
        setOpen(open === name ? null : name);
    };
    const handlers = {
        onKeyDown: ({ key }: KeyboardEvent): void => {
            if (key === 'Escape') close();
        },
        onBlur: ({ relatedTarget }: FocusEvent): void => {
            if (relatedTarget !== null && home.current?.contains(relatedTarget) === false) setOpen(null);
        },
    };
    return { open, home, toggle, close, handlers };
}
