// The code samples of an agent: whatever a form holds, each language reads exactly that, and nothing of it is code.

import { execFileSync } from 'node:child_process';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { Json } from '../../src/features/agent/example';
import {
    type Call,
    SAMPLES,
    ascii,
    pythonLiteral,
    rustRaw,
    rustText,
    scriptLiteral,
    shellWord,
} from '../../src/features/agent/samples';

const HOSTILE = [
    '',
    '-',
    '--help',
    "'; rm -rf / #",
    '"; process.exit(1) //',
    '$(id)`id`${x}!!',
    '\\',
    '\\\'\\"',
    '\u202e\u2028\u2029\ufeff',
    '"###',
    `"${'#'.repeat(300)}`,
    '"""\n\'\'\'',
    '\u{1f600}\u0000\u001b[31m',
    '\r\n\t',
    '%s%b\\0101',
    '</script>',
    '\\ud83d\\ude00',
];

const text = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', "'", '\\', '#', '$', '`', '\n', '{', '}', '\u202e', '😀') }),
);
const json = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.constant(null),
        fc.boolean(),
        fc.integer(),
        fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.oneof(text, fc.constant('__proto__')), tie('value'), { maxKeys: 3 }),
    ),
})).value;

/** Only what a terminal shows as it is. */
const PRINTABLE = /^[\x20-\x7e\n]*$/;

test('no sample has a character that is not seen', () => {
    fc.assert(
        fc.property(text, fc.dictionary(text, json, { maxKeys: 3 }), (task, parameters) => {
            const call: Call = { url: 'http://127.0.0.1:1', agentId: 'A'.repeat(44), task, parameters };
            for (const { code } of SAMPLES) expect(code(call)).toMatch(PRINTABLE);
        }),
    );
});

test('TypeScript reads the same value, also of a member that is called __proto__', () => {
    fc.assert(
        fc.property(json, (value) => {
            // eslint-disable-next-line @typescript-eslint/no-implied-eval -- It is what a reader does with it.
            const read: unknown = new Function(`return ${scriptLiteral(value)}`)();
            expect(JSON.stringify(read)).toBe(JSON.stringify(value));
        }),
    );
});

test('a string of Rust ends where it ends, and has the same text', () => {
    fc.assert(
        fc.property(text, (value) => {
            const literal = rustText(value);
            expect(literal).toMatch(/^"(?:[^"\\\n]|\\["\\n]|\\u\{[0-9a-f]{1,6}\})*"$/);
            const read = literal
                .slice(1, -1)
                .replace(/\\(?:u\{([0-9a-f]+)\}|(.))/g, (_, point: string | undefined, other: string) =>
                    point === undefined ? (other === 'n' ? '\n' : other) : String.fromCodePoint(parseInt(point, 16)),
                );
            expect(read).toBe(value);
        }),
    );
});

test('a raw string of Rust is not ended by what is in it, and has no more signs than Rust takes', () => {
    fc.assert(
        fc.property(json, (value) => {
            const written = ascii(value);
            const literal = rustRaw(written);
            const [, fence = ''] = /^r(#+)"/.exec(literal) ?? [];
            if (fence === '') {
                expect(literal).toBe(rustText(written));
                return;
            }
            expect(fence.length).toBeLessThanOrEqual(255);
            expect(literal.indexOf(`"${fence}`, fence.length + 2)).toBe(literal.length - fence.length - 1);
            expect(literal.slice(fence.length + 2, -fence.length - 1)).toBe(written);
        }),
    );
});

/** One run for all values: a start of an interpreter takes longer than the test. */
const valuesOf = (count: number): Json[] => [
    ...HOSTILE,
    ...HOSTILE.map((name) => ({ [name]: name })),
    ...fc.sample(json, count),
];

test('a shell reads the same words', () => {
    const texts = [...HOSTILE, ...fc.sample(text, 200)].map((value) => value.replaceAll('\u0000', ''));
    const read = execFileSync('sh', ['-c', `printf '%s\\0' ${texts.map(shellWord).join(' ')}`], { encoding: 'utf8' });
    expect(read.split('\0').slice(0, -1)).toEqual(texts);
});

test('the command line gets the same task, whatever is in it', () => {
    const cli = SAMPLES.find(({ name }) => name === 'CLI')?.code;
    // In place of the program: writes its task, from its input for `-`.
    const program = 'crtx() { if [ "$4" = - ]; then cat; else printf %s "$4"; fi; printf "\\377"; }';
    const tasks = [...HOSTILE, ...fc.sample(text, 100)];
    const calls = tasks.map((task) => cli?.({ url: 'http://127.0.0.1:1', agentId: 'A', task, parameters: {} }));
    const read = execFileSync('sh', ['-c', `${program}\n${calls.join('\n')}`], { encoding: 'latin1' });
    expect(
        read
            .split('\u00ff')
            .slice(0, -1)
            .map((one) => Buffer.from(one, 'latin1').toString()),
    ).toEqual(tasks);
});

test('an MCP client reads how to start the server, and the tool gets the same values', () => {
    const sample = SAMPLES.find(({ name }) => name === 'MCP')?.code;
    fc.assert(
        fc.property(text, fc.dictionary(text, json, { maxKeys: 3 }), (task, parameters) => {
            const code = sample?.({ url: 'http://127.0.0.1:1', agentId: 'A', task, parameters }) ?? '';
            const values = code
                .split(/^\/\/ .*$/m)
                .slice(1)
                .map((part): unknown => JSON.parse(part));
            expect(values).toEqual([
                { mcpServers: { crtx: { command: 'crtx', args: ['mcp'], env: expect.anything() as unknown } } },
                { agent_id: 'A', task, ...(Object.keys(parameters).length === 0 ? {} : { parameters }) },
            ]);
        }),
    );
});

test('Python reads the same values', () => {
    const values = valuesOf(100);
    const program = `import json\nprint(json.dumps([${values.map((value) => pythonLiteral(value)).join(',')}]))`;
    const read = JSON.parse(execFileSync('python3', ['-'], { encoding: 'utf8', input: program })) as unknown;
    expect(JSON.stringify(read)).toBe(JSON.stringify(values));
});
