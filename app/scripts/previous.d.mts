import type { Plugin } from 'vite';

export function previousAssets(options?: { app?: string; base?: string; stamp?: string }): Map<string, Buffer>;
export function previous(): Plugin;
