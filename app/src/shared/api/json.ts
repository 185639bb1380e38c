// Reads the JSON of an answer. Amounts (`…_usdc`) become `bigint` base units; values that creators and callers wrote
// stay as they are.

import { parseUsdc } from '../money';

/** An amount while it is not known yet whether a creator wrote it. */
class Amount {
    constructor(
        readonly source: string,
        readonly number: number,
    ) {}
}

/** Members that hold JSON of creators or callers: schemas, parameters, traces. Numbers in there are no amounts. */
const FOREIGN = new Set(['input_schema', 'output_schema', 'parameters', 'steps']);

type Context = { source?: string } | undefined;

const NOTHING: ReadonlySet<string> = new Set();
/** Endpoints without JSON of strangers: the `parameters` in their answers are the market's. */
const OWN = new Set(['/v1/network']);

/** Like `JSON.parse`, with amounts as `bigint`. `path`: of the endpoint that answered. */
export function parseAnswer(text: string, path = ''): unknown {
    const foreign = OWN.has(path) ? NOTHING : FOREIGN;
    const read = (key: string, value: unknown, context: Context): unknown => {
        if (typeof value === 'number' && key.endsWith('_usdc')) {
            return new Amount(context?.source ?? String(value), value);
        }
        return foreign.has(key) ? map(value, (amount) => amount.number) : value;
    };
    const parsed: unknown = JSON.parse(text, read as (key: string, value: unknown) => unknown);
    return map(parsed, (amount) => parseUsdc(plainDecimal(amount)));
}

/** The number as it stands in the answer, or without an exponent if the browser does not show the source. */
function plainDecimal({ source, number }: Amount): string {
    if (/^\d+(\.\d+)?$/.test(source)) return source;
    const decimal = number.toFixed(6);
    // `1e-6` is an amount, `1e-7` is none. The caller refuses a text that is no amount.
    return Number(decimal) === number ? decimal : source;
}

/** Replaces every amount in a parsed value, in place. Written with a stack: foreign JSON may be deep. */
function map(root: unknown, replace: (amount: Amount) => unknown): unknown {
    if (root instanceof Amount) return replace(root);
    const waiting = [root];
    while (waiting.length > 0) {
        const value = waiting.pop();
        if (typeof value !== 'object' || value === null) continue;
        const members = value as Record<string, unknown>;
        for (const key of Object.keys(members)) {
            const member = members[key];
            if (member instanceof Amount) members[key] = replace(member);
            else waiting.push(member);
        }
    }
    return root;
}
