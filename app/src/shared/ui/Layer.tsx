// What opens over the page and goes away by itself: on Escape, on a press beside it, and when the focus leaves it. The
// browser's own popover: a modal dialog, or the library's popover, makes a slow device look at every element of the page
// when it opens and when it closes, and no key is answered meanwhile.

import { type ReactNode, type RefObject, useLayoutEffect } from 'react';

export type LayerProps = {
    /** For an owner that closes it: `hidePopover`. */
    layer: RefObject<HTMLDivElement | null>;
    className: string | undefined;
    onClose: () => void;
    /** Selects what takes the focus when the layer opens. */
    focusOn: string;
    /** Whether a press on the layer itself is one beside its content. */
    isBackdrop?: boolean;
    children: ReactNode;
};

/** Open for as long as it is rendered. */
export function Layer({ layer, className, onClose, focusOn, isBackdrop = false, children }: LayerProps) {
    useLayoutEffect(() => {
        const shown = layer.current;
        shown?.showPopover();
        shown?.querySelector<HTMLElement>(focusOn)?.focus();
        return () => shown?.hidePopover();
    }, [layer, focusOn]);
    const close = (): void => layer.current?.hidePopover();
    const isOutside = (element: Element | null): boolean =>
        element !== null && layer.current?.contains(element) === false;
    return (
        <div
            ref={layer}
            popover="auto"
            className={className}
            // The browser closes it on Escape and gives the focus back to what had it.
            onToggle={({ newState }) => newState === 'closed' && onClose()}
            onClick={({ target }) => isBackdrop && target === layer.current && close()}
            onBlur={({ relatedTarget }) => isOutside(relatedTarget) && close()}
        >
            {children}
        </div>
    );
}
