// The button that changes between the system's theme, light and dark.

import { Button } from '../shared/ui/Button';
import { type Theme, chooseTheme, nextTheme, useTheme } from './theme';
import { words } from './words';

const PATHS: Record<Theme, string> = {
    system: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
    light: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5',
    dark: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z',
};

export function ThemeSwitch() {
    const theme = useTheme();
    const next = nextTheme(theme);
    const { names, change } = words.theme;
    return (
        <Button look="quiet" onPress={() => chooseTheme(next)} aria-label={change(names[theme], names[next])}>
            <svg
                width="20"
                height="20"
                viewBox="0 0 24 24"
                fill={theme === 'system' ? 'currentColor' : 'none'}
                fillOpacity="0.35"
                stroke="currentColor"
                strokeWidth="1.8"
                strokeLinecap="round"
                strokeLinejoin="round"
                aria-hidden="true"
            >
                <path d={PATHS[theme]} />
            </svg>
        </Button>
    );
}
