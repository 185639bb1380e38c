// Tells a screen reader which page has opened, and moves the focus to the page's beginning, unless the user has opened
// the search or the wallet panel while the page was loading.

import { useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';

export function Announcer() {
    const router = useRouter();
    const [text, setText] = useState('');
    useEffect(
        () =>
            router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
                if (!pathChanged || fromLocation === undefined) return;
                if (document.activeElement?.closest(':popover-open') == null)
                    document.getElementById('main')?.focus({ preventScroll: true });
                setText(document.title);
            }),
        [router],
    );
    return (
        <div role="status" aria-live="polite" className="visually-hidden">
            {text}
        </div>
    );
}
