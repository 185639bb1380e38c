// How the browser tests run: one `crtx up` for all files, two files at a time. What would disturb other files has a network of
// its own.

import { defineConfig } from 'vitest/config';

export default defineConfig({
    test: {
        include: ['tests/**/*.test.ts'],
        globalSetup: ['support/network.ts'],
        maxWorkers: 2,
        // Of the tests in a file that may run at the same time.
        maxConcurrency: 3,
        // On a machine that is busy with other work a page can be late for no fault of ours. The summary of the suite names
        // what passed only at a second attempt.
        retry: 1,
        // A test that hangs is cut off; no test measures time.
        testTimeout: 120_000,
        hookTimeout: 120_000,
    },
});
