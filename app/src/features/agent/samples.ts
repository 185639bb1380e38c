// How to call an agent from code, with everything filled in. Values go into each language as its own literals in ASCII,
// so that no text can end a literal and go on as code, and no hidden character gets into a program.

import type { Json } from './example';

export type Call = {
    /** Where the API is. */
    readonly url: string;
    readonly agentId: string;
    readonly task: string;
    readonly parameters: { readonly [name: string]: Json };
};

export type Sample = { readonly name: string; readonly code: (call: Call) => string };

/** In an environment variable: a key that stands in a file ends up in a repository. */
const KEY = 'CRTX_API_KEY';

export const SAMPLES: readonly Sample[] = [
    { name: 'curl', code: curl },
    { name: 'Python', code: python },
    { name: 'TypeScript', code: typescript },
    { name: 'Rust', code: rust },
    { name: 'CLI', code: commandLine },
    { name: 'MCP', code: mcp },
];

const hasParameters = ({ parameters }: Call): boolean => Object.keys(parameters).length > 0;

/** The body of the request; without parameters where there are none. */
const bodyOf = (call: Call): { [name: string]: Json } =>
    hasParameters(call) ? { task: call.task, parameters: { ...call.parameters } } : { task: call.task };

/** JSON in ASCII alone. */
export const ascii = (value: Json, indent?: number): string =>
    JSON.stringify(value, null, indent).replace(
        /[\u007f-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );

/** One word for a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** What a shell word shows as it is. */
const PLAIN = /^[\x20-\x7e\n]*$/;

/** For `printf %b`: bytes of UTF-8 as octal numbers where they are not plain. */
const octal = (text: string): string =>
    Array.from(new TextEncoder().encode(text), (byte) =>
        byte >= 0x20 && byte < 0x7f && byte !== 0x5c
            ? String.fromCharCode(byte)
            : `\\0${byte.toString(8).padStart(3, '0')}`,
    ).join('');

/** The most that a raw string of Rust takes. */
const MAX_FENCE = 255;

/** A raw string of Rust, of JSON in ASCII. */
export function rustRaw(text: string): string {
    const longest = Math.max(0, ...Array.from(text.matchAll(/"(#*)/g), ([, hashes = '']) => hashes.length + 1));
    const fence = '#'.repeat(Math.max(1, longest));
    return fence.length > MAX_FENCE ? rustText(text) : `r${fence}"${text}"${fence}`;
}

/** A string of Rust with escapes. */
export const rustText = (text: string): string =>
    `"${Array.from(text, (character) => {
        if (character === '"' || character === '\\') return `\\${character}`;
        if (/[\x20-\x7e]/.test(character)) return character;
        return character === '\n' ? '\\n' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
    }).join('')}"`;

/** A text of Python, which would read the two halves of a character in JSON as two characters. */
const pythonText = (text: string): string =>
    `"${Array.from(text, (character) => {
        const point = character.codePointAt(0) ?? 0;
        return point > 0xffff ? `\\U${point.toString(16).padStart(8, '0')}` : ascii(character).slice(1, -1);
    }).join('')}"`;

/** A literal of Python. */
export function pythonLiteral(value: Json, indent = ''): string {
    if (value === null) return 'None';
    if (typeof value === 'boolean') return value ? 'True' : 'False';
    if (typeof value === 'string') return pythonText(value);
    if (typeof value !== 'object') return ascii(value);
    const inner = `${indent}    `;
    const entries = Array.isArray(value)
        ? value.map((item) => pythonLiteral(item, inner))
        : Object.entries(value).map(([name, member]) => `${pythonText(name)}: ${pythonLiteral(member, inner)}`);
    const [open, close] = Array.isArray(value) ? '[]' : '{}';
    return entries.length === 0
        ? `${open}${close}`
        : `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close}`;
}

function curl(call: Call): string {
    return [
        `curl -sS ${shellWord(`${call.url}/v1/agents/${call.agentId}/execute`)} \\`,
        `  -H "Authorization: Bearer $${KEY}" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -H "Idempotency-Key: $(date +%s)-$$" \\`,
        `  -d ${shellWord(ascii(bodyOf(call)))}`,
    ].join('\n');
}

function python(call: Call): string {
    const parameters = hasParameters(call) ? `\n    ${pythonLiteral({ ...call.parameters }, '    ')},` : '';
    return `# pip install crtx
import os
from crtx import Client

client = Client(${pythonText(call.url)}, os.environ["${KEY}"])
answer = client.execute(
    ${pythonText(call.agentId)},
    ${pythonText(call.task)},${parameters}
)
print(answer.result, answer.cost_usdc)`;
}

/** A literal of TypeScript, where a plain `"__proto__":` would not be a member. */
export const scriptLiteral = (value: Json): string =>
    ascii(value, 4)
        .replace(/^( *)"__proto__":/gm, '$1["__proto__"]:')
        .replaceAll('\n', '\n    ');

function typescript(call: Call): string {
    const parameters = hasParameters(call) ? `\n    { parameters: ${scriptLiteral({ ...call.parameters })} },` : '';
    return `// npm install @crtx/sdk
import { Client } from "@crtx/sdk";

const client = new Client(${ascii(call.url)}, process.env.${KEY});
const { result, cost_usdc } = await client.execute(
    ${ascii(call.agentId)},
    ${ascii(call.task)},${parameters}
);
console.log(result, cost_usdc);`;
}

function rust(call: Call): string {
    const [options, parameters] = hasParameters(call)
        ? [
              'call',
              `
    let parameters = serde_json::from_str(${rustRaw(ascii({ ...call.parameters }))}).expect("JSON");
    let call = crtx_sdk::CallOptions { parameters, ..Default::default() };`,
          ]
        : ['Default::default()', ''];
    return `// crtx-sdk with the feature "buyer", serde_json, tokio with "macros" and "rt-multi-thread"
#[tokio::main]
async fn main() -> Result<(), crtx_sdk::Error> {
    let key = std::env::var("${KEY}").expect("${KEY}");
    let client = crtx_sdk::Client::new(${rustText(call.url)}, &key)?;${parameters}
    let task = ${rustText(call.task)};
    let answer = client.execute(${rustText(call.agentId)}, task, &${options}).await?;
    println!("{} for {} USDC", answer.result, answer.cost_usdc);
    Ok(())
}`;
}

/** The command reads a task of `-` from its input. There, it also gets every character that a shell cannot hold. */
function commandLine(call: Call): string {
    const isPlain = call.task !== '-' && PLAIN.test(call.task);
    const pipe = isPlain ? '' : `printf %b ${shellWord(octal(call.task))} | `;
    const task = isPlain ? shellWord(call.task) : '-';
    const parameters = hasParameters(call) ? ` \\\n  --parameters ${shellWord(ascii({ ...call.parameters }))}` : '';
    return `# Reads the key from ${KEY}
export CRTX_URL=${shellWord(call.url)}
${pipe}crtx execute ${call.agentId} \\\n  --task ${task}${parameters}`;
}

/** Two values of JSON: what an MCP client needs to start the server, and what a model then calls. */
function mcp(call: Call): string {
    const crtx = { command: 'crtx', args: ['mcp'], env: { CRTX_URL: call.url, [KEY]: 'your key' } };
    return `// In the settings of your MCP client
${ascii({ mcpServers: { crtx } }, 2)}

// What the model then calls: the tool call_agent, with
${ascii({ agent_id: call.agentId, ...bodyOf(call) }, 2)}`;
}
