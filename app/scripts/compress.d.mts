import type { Plugin } from 'vite';

export function compressFolder(folder: string): void;
export function compress(): Plugin;
