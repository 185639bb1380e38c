// Keeps the focus in the page. A browser gives it to the body when the element that has it is removed, hidden or
// disabled: then the keyboard begins at the top again, and a screen reader says nothing.

import { useEffect } from 'react';

/** Elements that can get the focus instead of one that was removed: each has a name or a content of its own. */
const PLACES =
    'li, form, fieldset, section, aside, article, dialog, [role=dialog], [role=group], [role=alert], [role=status], nav, main';
const WATCHED = ['disabled', 'hidden', 'inert', 'open', 'aria-hidden'];

export function useKeptFocus(): void {
    useEffect(() => keepFocus(document), []);
}

/** Returns a function that stops it. */
export function keepFocus(page: Document): () => void {
    /** The element that had the focus last, and its ancestors. */
    let last: Element | null = null;
    let around: readonly Element[] = [];
    /** The element that gets the focus back as soon as it can take it, unless the user moves on. */
    let waiting: { readonly element: HTMLElement; readonly place: Element } | null = null;

    const focused = ({ target }: FocusEvent): void => {
        if (!(target instanceof Element) || target === page.body) return;
        if (waiting !== null && target !== waiting.place) waiting = null;
        last = target;
        around = ancestorsOf(target);
    };
    const lost = (): boolean => {
        const active = page.activeElement;
        return active === null || active === page.body || active.matches(':disabled');
    };
    const check = (): void => {
        if (waiting !== null && canFocus(waiting.element) && page.activeElement === waiting.place) {
            const { element } = waiting;
            waiting = null;
            element.focus({ preventScroll: true });
            return;
        }
        if (last === null || !lost()) return;
        // The user has left an element that is still there, for example by a press beside it.
        const isLeft = canFocus(last);
        const place = isLeft
            ? targetOf(last)
            : (around.find((element) => element.matches(PLACES) && isShown(element)) ?? page.getElementById('main'));
        if (!(place instanceof HTMLElement)) return;
        const gone = last;
        if (!place.hasAttribute('tabindex')) {
            place.tabIndex = -1;
            place.addEventListener('blur', () => place.removeAttribute('tabindex'), { once: true });
        }
        place.focus({ preventScroll: true });
        if (!isLeft && gone instanceof HTMLElement && gone.isConnected) waiting = { element: gone, place };
    };
    let frame = 0;
    const later = (): void => {
        cancelAnimationFrame(frame);
        // A browser notices after it has drawn that an element is hidden; a popover gives the focus back then, too.
        frame = requestAnimationFrame(() => (frame = requestAnimationFrame(check)));
    };
    const changed = (): void => {
        const popover = around.find((element) => element.matches('[role=dialog]'));
        if (popover === undefined || popover.isConnected) check();
        later();
    };
    const watch = new MutationObserver(changed);
    watch.observe(page.body, { subtree: true, childList: true, attributes: true, attributeFilter: WATCHED });
    page.addEventListener('focusin', focused);
    page.addEventListener('focusout', later);
    return () => {
        watch.disconnect();
        cancelAnimationFrame(frame);
        page.removeEventListener('focusin', focused);
        page.removeEventListener('focusout', later);
    };
}

function ancestorsOf(element: Element): Element[] {
    const found: Element[] = [];
    for (let parent = element.parentElement; parent !== null; parent = parent.parentElement) found.push(parent);
    return found;
}

/** Where a link within the page has led. A browser shows it, and focuses it only if it can have the focus by itself. */
const targetOf = (link: Element): HTMLElement | null =>
    link instanceof HTMLAnchorElement && link.matches('[href^="#"]') && link.hash === location.hash
        ? document.getElementById(link.hash.slice(1))
        : null;

const isShown = (element: Element): boolean =>
    element.isConnected && element.closest('[hidden], [inert]') === null && element.checkVisibility();

const canFocus = (element: Element): boolean => isShown(element) && !element.matches(':disabled');
