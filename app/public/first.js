// Applies the chosen theme before the first paint, so that the page does not flash. `src/app/theme.ts` writes the value.
try {
    var chosen = localStorage.getItem('crtx.theme');
    if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
} catch (_) {
    // Storage is blocked: the system's theme is used.
}
