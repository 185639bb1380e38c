// Tests share one marketplace, which `crtx up` starts before the first of them.

import { defineConfig } from 'vitest/config';

export default defineConfig({
    test: {
        globalSetup: 'tests/support/network.ts',
        include: ['tests/**/*.test.ts'],
        // Two cores: the marketplace takes one of them.
        maxWorkers: 2,
        testTimeout: 60_000,
        hookTimeout: 120_000,
    },
});
