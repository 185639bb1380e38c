// Checks parameters in a worker that is ended when it takes too long: a schema is a stranger's program.

import type { Problem } from './draft';
import type { Json } from './json';

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
            reject(
                new CheckError(
                    `${reason} Nothing was signed. The command line can call this agent: crtx execute --wallet.`,
                ),
            );
        };
        const timer = setTimeout(
            () => fail('The schema of this agent takes too long to check in a browser.'),
            PATIENCE_MS,
        );
        worker.onerror = () => fail('The check of the parameters could not start.');
        worker.onmessage = ({ data }: MessageEvent<{ problems: Problem[] | null }>) => {
            if (data.problems === null) return fail('The schema of this agent cannot be checked in a browser.');
            end();
            resolve(data.problems);
        };
        worker.postMessage({ schema, parameters });
    });
