// A click anywhere in a row of a table follows the link of the row, the one with `data-row`. The keyboard and screen
// readers use the link itself.

import type { MouseEvent } from 'react';

const OWN_PURPOSE = 'a, button, input, select, textarea, label, summary';

export function followRow({ target, currentTarget, ctrlKey, metaKey, shiftKey }: MouseEvent<HTMLElement>): void {
    const link = currentTarget.querySelector('a[data-row]');
    if (link === null || !(target instanceof Element) || target.closest(OWN_PURPOSE) !== null) return;
    // Somebody marks text to copy it.
    if (window.getSelection()?.isCollapsed === false) return;
    link.dispatchEvent(new window.MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
}
