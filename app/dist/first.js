// Sets what the first paint depends on, before the dashboard has loaded. `src/app/theme.ts` and
// `src/shared/wallet/store.ts` write the values.
try {
    var chosen = localStorage.getItem('crtx.theme');
    if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
    // The claim in index.html is for those who see the home part next.
    var isNew = localStorage.getItem('crtx.wallet') === null;
    if (isNew && location.pathname === '/' && location.search === '') document.documentElement.dataset.first = 'claim';
} catch (_) {
    // Storage is blocked: the theme is the system's, and nothing is shown until the dashboard has loaded.
}
