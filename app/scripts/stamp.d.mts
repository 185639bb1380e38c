import type { Plugin } from 'vite';

export function stamp(): Plugin;
