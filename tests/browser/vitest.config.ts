// How the browser tests run: three files at the same time, each with a `crtx up` for all files of its worker.

import { defineConfig } from 'vitest/config';

export default defineConfig({
    test: {
        include: ['tests/**/*.test.ts'],
        globalSetup: ['support/network.ts'],
        maxWorkers: process.env['CRTX_UP_JSON'] === undefined ? 3 : 1,
        // Of the tests in a file that may run at the same time.
        maxConcurrency: 3,
        // On a machine that is busy with other work a page can be late for no fault of ours. The summary of the suite names
        // what passed only at a second attempt.
        retry: 1,
        // What a page shows in the end is waited for as long as the other waits of these tests; one second is the default.
        expect: { poll: { timeout: 30_000 } },
        // A test that hangs is cut off; no test measures time.
        testTimeout: 120_000,
        hookTimeout: 120_000,
        // An error outside of a test fails the run. It is said once more at the end, where a reader looks for the reason.
        onUnhandledError: ({ message, stack = message }) =>
            void process.once('exit', () => console.error(`outside of a test: ${stack.split('\n', 3).join('\n')}`)),
    },
});
