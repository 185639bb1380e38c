// Dark, light, or as the system says. The choice is kept in this browser; `public/first.js` applies it before the first
// paint.

import { useSyncExternalStore } from 'react';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'crtx.theme';

const listeners = new Set<() => void>();

const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
};

export const useTheme = (): Theme => useSyncExternalStore(subscribe, chosenTheme);

function chosenTheme(): Theme {
    const theme = document.documentElement.dataset['theme'];
    return theme === 'light' || theme === 'dark' ? theme : 'system';
}

export function chooseTheme(theme: Theme): void {
    if (theme === 'system') {
        delete document.documentElement.dataset['theme'];
        localStorage.removeItem(KEY);
    } else {
        document.documentElement.dataset['theme'] = theme;
        localStorage.setItem(KEY, theme);
    }
    for (const listener of listeners) listener();
}

/** The theme that the next press of the switch selects. */
export const nextTheme = (theme: Theme): Theme =>
    theme === 'system' ? 'light' : theme === 'light' ? 'dark' : 'system';
