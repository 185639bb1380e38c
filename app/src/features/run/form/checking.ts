// Checks parameters in a worker that is ended when it takes too long: a schema is a stranger's program.

import type { Problem } from './draft';
import type { Json } from './json';
import { words } from '../words';

const t = words.check;

const PATIENCE_MS = 3_000;

/** The agent's schema cannot be checked in a browser; nothing is signed then. */
export class CheckError extends Error {}

export type Check = (schema: unknown, parameters: Json) => Promise<Problem[]>;

export const checkParameters: Check = (schema, parameters) =>
    new Promise((resolve, reject) => {
        const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
        const end = (): void => {
            clearTimeout(timer);
            worker.terminate();
        };
        const fail = (reason: string): void => {
            end();
            reject(new CheckError(t.otherWay(reason)));
        };
        const timer = setTimeout(() => fail(t.slow), PATIENCE_MS);
        worker.onerror = () => fail(t.noStart);
        worker.onmessage = ({ data }: MessageEvent<{ problems: Problem[] | null }>) => {
            if (data.problems === null) return fail(t.impossible);
            end();
            resolve(data.problems);
        };
        worker.postMessage({ schema, parameters });
    });
