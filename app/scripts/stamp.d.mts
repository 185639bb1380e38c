import type { Plugin } from 'vite';

export function hashOfSources(): string;
export function stamp(): Plugin;
