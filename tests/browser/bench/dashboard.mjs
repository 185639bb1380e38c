// How fast the dashboard is, in Chromium on the local network. Prints the figures as one JSON object. Started by
// `cargo xtask bench dashboard`.

import { withMarketplace } from './marketplace.mjs';
import { measureVisits } from './visit.mjs';
import { measureWaits } from './wait.mjs';

await withMarketplace(async (browser, line) => {
    const results = [...(await measureVisits(browser, line)), ...(await measureWaits(browser, line))];
    console.log(JSON.stringify({ results }));
});
