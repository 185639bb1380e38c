// Builds the gallery of components, which is no part of the dashboard: `npm run gallery` shows it while you work, and the
// browser tests compare pictures of it.

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
    root: import.meta.dirname,
    plugins: [react()],
    build: {
        outDir: '../../target/browser/gallery',
        emptyOutDir: true,
        assetsInlineLimit: 0,
        reportCompressedSize: false,
    },
    server: { fs: { allow: ['..'] } },
});
