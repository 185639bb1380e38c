// How the browser tests run: one `crtx up` for all files, one file after the other.

import { defineConfig } from 'vitest/config';

export default defineConfig({
    test: {
        include: ['tests/**/*.test.ts'],
        globalSetup: ['support/network.ts'],
        fileParallelism: false,
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
