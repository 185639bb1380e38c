// How to call an agent from five places, with everything filled in. Values go into each language as its own literals,
// so that no text of a schema can end a literal and go on as code.

import type { Json } from './example';

export type Call = {
    /** Where the API is. */
    readonly url: string;
    readonly agentId: string;
    readonly task: string;
    readonly parameters: { readonly [name: string]: Json };
};

export type Sample = { readonly name: string; readonly language: string; readonly code: (call: Call) => string };

/** In an environment variable: a key that stands in a file ends up in a repository. */
const KEY = 'CRTX_API_KEY';

export const SAMPLES: readonly Sample[] = [
    { name: 'curl', language: 'sh', code: curl },
    { name: 'Python', language: 'python', code: python },
    { name: 'TypeScript', language: 'ts', code: typescript },
    { name: 'Rust', language: 'rust', code: rust },
    { name: 'Command line', language: 'sh', code: commandLine },
];

const hasParameters = ({ parameters }: Call): boolean => Object.keys(parameters).length > 0;

/** The body of the request; without parameters where there are none. */
const bodyOf = (call: Call): { [name: string]: Json } =>
    hasParameters(call) ? { task: call.task, parameters: { ...call.parameters } } : { task: call.task };

const endpoint = ({ url, agentId }: Call): string => `${url}/v1/agents/${agentId}/execute`;

/** JSON in ASCII alone. It is also a literal of TypeScript. */
export const ascii = (value: Json, indent?: number): string =>
    JSON.stringify(value, null, indent).replace(
        /[\u007f-\uffff]/g,
        (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );

/** One word for a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A raw string of Rust. JSON in ASCII has no carriage return, which would not be allowed. */
export function rustRaw(text: string): string {
    const longest = Math.max(0, ...Array.from(text.matchAll(/"(#*)/g), ([, hashes = '']) => hashes.length + 1));
    const fence = '#'.repeat(Math.max(1, longest));
    return `r${fence}"${text}"${fence}`;
}

/** A literal of Python. */
export function pythonLiteral(value: Json, indent = ''): string {
    if (value === null) return 'None';
    if (typeof value === 'boolean') return value ? 'True' : 'False';
    if (typeof value !== 'object') return ascii(value);
    const inner = `${indent}    `;
    const entries = Array.isArray(value)
        ? value.map((item) => pythonLiteral(item, inner))
        : Object.entries(value).map(([name, member]) => `${ascii(name)}: ${pythonLiteral(member, inner)}`);
    const [open, close] = Array.isArray(value) ? '[]' : '{}';
    return entries.length === 0
        ? `${open}${close}`
        : `${open}\n${entries.map((entry) => `${inner}${entry},\n`).join('')}${indent}${close}`;
}

function curl(call: Call): string {
    return [
        `curl -sS ${shellWord(endpoint(call))} \\`,
        `  -H "Authorization: Bearer $${KEY}" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -H "Idempotency-Key: $(uuidgen)" \\`,
        `  -d ${shellWord(ascii(bodyOf(call)))}`,
    ].join('\n');
}

function python(call: Call): string {
    return `import json, os, urllib.request, uuid

request = urllib.request.Request(
    ${ascii(endpoint(call))},
    data=json.dumps(${pythonLiteral(bodyOf(call), '    ')}).encode(),
    headers={
        "Authorization": "Bearer " + os.environ["${KEY}"],
        "Content-Type": "application/json",
        "Idempotency-Key": str(uuid.uuid4()),
    },
)
with urllib.request.urlopen(request) as answer:
    execution = json.load(answer)
print(execution["result"])`;
}

function typescript(call: Call): string {
    const body = ascii(bodyOf(call), 4).replaceAll('\n', '\n    ');
    return `const answer = await fetch(${ascii(endpoint(call))}, {
    method: "POST",
    headers: {
        "Authorization": \`Bearer \${process.env.${KEY}}\`,
        "Content-Type": "application/json",
        "Idempotency-Key": crypto.randomUUID(),
    },
    body: JSON.stringify(${body}),
});
const execution = await answer.json();
if (!answer.ok) throw new Error(execution.error.message);
console.log(execution.result);`;
}

function rust(call: Call): string {
    return `// reqwest = { version = "0.13", features = ["blocking", "json"] }, serde_json = "1", uuid = { version = "1", features = ["v4"] }
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body: serde_json::Value = serde_json::from_str(${rustRaw(ascii(bodyOf(call)))})?;
    let execution: serde_json::Value = reqwest::blocking::Client::new()
        .post(${rustRaw(endpoint(call))})
        .bearer_auth(std::env::var("${KEY}")?)
        .header("Idempotency-Key", uuid::Uuid::new_v4().to_string())
        .json(&body)
        .send()?
        .error_for_status()?
        .json()?;
    println!("{}", execution["result"]);
    Ok(())
}`;
}

function commandLine(call: Call): string {
    const parameters = hasParameters(call) ? ` \\\n  --parameters ${shellWord(ascii({ ...call.parameters }))}` : '';
    return `export CRTX_URL=${shellWord(call.url)}
crtx execute ${call.agentId} --task ${shellWord(call.task)}${parameters}`;
}
