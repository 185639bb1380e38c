// The worker that checks parameters; `checking.ts` starts it and ends it in time.

import { problemsOf } from './check';
import type { Json } from './json';

self.onmessage = ({ data }: MessageEvent<{ schema: unknown; parameters: Json }>): void => {
    try {
        self.postMessage({ problems: problemsOf(data.schema, data.parameters) });
    } catch {
        self.postMessage({ problems: null });
    }
};
