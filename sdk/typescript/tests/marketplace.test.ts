// Seller and buyer on a real marketplace: `crtx up`.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

import { type KeyPairSigner, createKeyPairSignerFromBytes } from '@solana/kit';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { base58, fromBase58 } from '../src/bytes.js';
import {
    ApiError,
    Client,
    VerificationError,
    cidOf,
    executionIdOf,
    resultHash,
    sessionKeyOf,
    signerOf,
} from '../src/index.js';
import { withWallet } from '../src/wallet.js';
import { crtx, usdcOf } from './support/commandLine.js';
import { root } from './support/network.js';
import { FAULTS, randomOf, startProxy } from './support/faultyProxy.js';
import { PRICE, StandardTools } from './support/standardTools.js';

const network = inject('network');
const { base_url, api_key, wallet, rpc_url } = network;
const sdk = path.resolve(import.meta.dirname, '..');
const run = promisify(execFile);
/** A picture of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const agentOf = (name: string): string => network.agents.find((agent) => agent.name === name)?.agent_id ?? '';
const client = (options = {}): Client => new Client(base_url, api_key, options);

describe('the package, installed in an empty folder', () => {
    const folder = mkdtempSync(path.join(network.folder, 'consumer-'));
    const children: ChildProcess[] = [];
    const keypair = path.join(folder, 'creator.json');
    let [agent, listing, endpoint] = ['', '', ''];

    const start = async (file: string, env: NodeJS.ProcessEnv): Promise<void> => {
        const port = await freePort();
        endpoint = `http://127.0.0.1:${port}/execute`;
        children.push(
            spawn('node', [file], {
                cwd: folder,
                env: { ...process.env, ...env, PORT: String(port) },
                stdio: 'inherit',
            }),
        );
        await listens(port);
    };

    beforeAll(async () => {
        await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: sdk });
        writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
        const schema = path.join(sdk, 'node_modules/@cfworker/json-schema');
        await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, schema], { cwd: sdk });
        const packages = readdirSync(folder).filter((file) => file.endsWith('.tgz'));
        expect(packages).toHaveLength(2);
        const install = [
            'install',
            '--offline',
            '--ignore-scripts',
            '--no-audit',
            '--no-fund',
            '--cache',
            path.join(folder, 'cache'),
        ];
        await run('npm', [...install, ...packages.map((file) => `./${file}`)], { cwd: folder });
        // As a stranger's project compiles it, without `skipLibCheck`.
        cpSync(path.join(sdk, 'examples'), path.join(folder, 'src'), { recursive: true });
        const options = [
            '--strict',
            '--target',
            'es2022',
            '--module',
            'nodenext',
            '--rootDir',
            'src',
            '--outDir',
            'out',
        ];
        const types = ['--types', 'node', '--typeRoots', path.join(sdk, 'node_modules/@types')];
        const sources = ['buyer', 'seller', 'image-seller'].map((name) => `src/${name}.ts`);
        await run(path.join(sdk, 'node_modules/.bin/tsc'), [...options, ...types, ...sources], { cwd: folder });
    }, 120_000);

    afterAll(() => children.forEach((child) => child.kill()));

    test('has what it promises and nothing else', async () => {
        const { stdout } = await run('tar', ['tzf', 'crtx-sdk-0.1.0.tgz'], { cwd: folder });
        const files = stdout
            .trim()
            .split('\n')
            .map((file) => file.replace('package/', ''));
        expect(files).toEqual(
            expect.arrayContaining(['README.md', 'CHANGELOG.md', 'LICENSE', 'dist/index.js', 'dist/node.d.ts']),
        );
        expect(
            files.filter(
                (file) => !/^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$|^dist\/[\w/]+\.(js|d\.ts)$/.test(file),
            ),
        ).toEqual([]);
    });

    test.each([
        ['image-seller', PNG, 'a,b'],
        ['seller', 'a,b\\n1,2', 'a,b\\n1'],
    ])('sells: %s passes the conformance test', async (name, task, failing) => {
        listing = path.join(folder, `listing-${name}`);
        await crtx(network, ['agent', 'init', listing]);
        await start(`out/${name}.js`, { RESULT_KEY: readFileSync(path.join(listing, 'result-key.json'), 'utf8') });
        const manifest = path.join(listing, 'agent.toml');
        writeFileSync(manifest, manifestOf(readFileSync(manifest, 'utf8'), endpoint, task, failing));
        const report = await crtx(network, ['agent', 'test', listing]);
        expect(report.checks.filter((check: any) => check.status === 'failed')).toEqual([]);
        expect(report.passed).toBe(true);
    });

    test('buys: the example prints a result that the command line verifies', async () => {
        await crtx(network, ['wallet', 'new', '--out', keypair]);
        await crtx(network, ['wallet', 'fund'], keypair);
        agent = (await crtx(network, ['agent', 'publish', listing, '--yes'], keypair)).agent_id;
        const env = { ...process.env, CRTX_URL: base_url, CRTX_API_KEY: api_key, AGENT: agent };
        const { stdout } = await run('node', ['out/buyer.js'], { cwd: folder, env });
        expect(stdout).toContain('{"rows":2,"columns":[{"name":"name","kind":"text","empty":0,"distinct":2},');
        expect(stdout.trim()).toMatch(/ 0\.05$/);
        const { executions } = await client().list({ agent_id: agent });
        const report = await crtx(network, ['verify', executions[0]?.execution_id ?? '']);
        expect(report).toMatchObject({ verified: true, outcome: 'paid' });
    });

    const blocks = ['sdk/typescript/README.md', 'docs/quickstart-buy.md'].flatMap((file) =>
        [...readFileSync(path.join(root, file), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ''], at) => ({
            name: `${file} ${at + 1}`,
            code,
        })),
    );

    let buyer = '';

    beforeAll(async () => {
        buyer = (await newWallet('reader')).keypair;
        // The optional peer, which a wallet needs.
        symlinkSync(path.join(sdk, 'node_modules/@solana'), path.join(folder, 'node_modules/@solana'));
    });

    test('the documents have code', () => expect(blocks.length).toBeGreaterThanOrEqual(5));

    test.each(blocks)('$name runs as it stands', async ({ code }) => {
        const file = `block-${crypto.randomUUID()}.mjs`;
        const isSeller = code.includes('serve(');
        const port = String(await freePort());
        writeFileSync(path.join(folder, file), code.replace('8090', port));
        cpSync(path.join(listing, 'result-key.json'), path.join(folder, 'result-key.json'));
        cpSync(buyer, path.join(folder, 'wallet.json'));
        const env = { ...process.env, CRTX_URL: base_url, CRTX_API_KEY: api_key, CRTX_RPC_URL: rpc_url, AGENT: agent };
        if (isSeller) {
            children.push(spawn('node', [file], { cwd: folder, env, stdio: 'inherit' }));
            await listens(Number(port));
            const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
            expect(answer.status).toBe(400);
        } else {
            const { stdout } = await run('node', [file], { cwd: folder, env });
            expect(stdout).toMatch(/"words":|"rows":1/);
        }
    });

    test('refunds: a function that raises costs nothing, and its failure is signed', async () => {
        const before = await usdcOf(network, wallet);
        const error = await client()
            .execute(agent, 'a,b\n1')
            .catch((error: unknown) => error);
        expect(error).toBeInstanceOf(ApiError);
        expect(error).toMatchObject({ code: 'execution_failed' });
        expect(await usdcOf(network, wallet)).toBe(before);
        await expect
            .poll(async () => (await client().agents.get(agent)).failed_executions, { timeout: 10_000 })
            .toBe(1);
    });
});

test('a call is bought with its own id, and checked against the chain', async () => {
    const idempotencyKey = crypto.randomUUID();
    const answer = await client({ rpcUrl: rpc_url }).execute(agentOf('text-stats'), 'One. Two.', { idempotencyKey });
    expect(answer.execution_id).toBe(await executionIdOf(wallet, idempotencyKey));
    expect(JSON.parse(answer.result)).toMatchObject({ words: 2 });
    expect(answer.cost_usdc).toBe('0.01');
    expect(answer.checks.map(({ name }) => name)).toEqual(CHECK_NAMES);
    expect(answer.checks.filter(({ ok }) => !ok)).toEqual([]);
});

test('calls that are opened and settled in one transaction are checked each', async () => {
    const tasks = Array.from({ length: 12 }, (_, at) => `Call ${at}.`);
    const answers = await Promise.all(tasks.map((task) => client().execute(agentOf('text-stats'), task)));
    expect(new Set(answers.map(({ execution_id }) => execution_id)).size).toBe(12);
    for (const { checks } of answers) expect(checks.filter(({ ok }) => !ok)).toEqual([]);
});

test('a started call is waited for, shown, listed, verified and told as events', async () => {
    const buyer = client();
    const agent = agentOf('text-stats');
    const newest = (await buyer.list({ limit: 1 })).total;
    const { execution_id, idempotency_key } = await buyer.start(agent, 'Three. Words. Here.');
    const again = await buyer.start(agent, 'Three. Words. Here.', { idempotencyKey: idempotency_key });
    expect(again.execution_id).toBe(execution_id);
    const execution = await buyer.wait(execution_id);
    expect(execution).toMatchObject({ status: 'completed', cost_usdc: '0.01', creator_amount_usdc: '0.0099' });
    const shown = await buyer.get(execution_id);
    expect(shown).toMatchObject({ execution_id, result: execution.result, checks: execution.checks });
    expect((await buyer.verify(execution_id)).every(({ ok }) => ok)).toBe(true);
    expect((await buyer.list({ limit: 1 })).total).toBe(newest + 1);
    const types: string[] = [];
    for await (const { type, execution_id: id } of buyer.events({ signal: AbortSignal.timeout(20_000) })) {
        if (id === execution_id) types.push(type);
        if (type === 'execution.completed' && id === execution_id) break;
    }
    expect(types).toContain('execution.completed');
});

test('agents are found without a key', async () => {
    const { agents } = await new Client(base_url).agents.search({ q: 'text', max_price: '0.02' });
    expect(agents.map(({ agent_id }) => agent_id)).toContain(agentOf('text-stats'));
    expect(agents[0]?.price_per_call_usdc).toBe('0.01');
});

test('a wallet without money gets its code and no execution', async () => {
    const poor = new Client(base_url, network.unfunded_api_key);
    const error = await poor.execute(agentOf('text-stats'), 'One.').catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'insufficient_balance', executionId: undefined, status: 402 });
});

const CHECK_NAMES = [
    ...[
        'result',
        'address',
        'record',
        'identity',
        'request',
        'status',
        'commitment',
        'gate',
        'message',
        'key',
        'signature',
    ],
    ...['split', 'payment', 'amounts'],
];

describe('of a recorded call', () => {
    const agent = agentOf('text-stats');
    const [task, idempotencyKey] = ['Tamper. With this.', crypto.randomUUID()];
    /** Answers of the service and the node, by what was asked. */
    const recorded = new Map<string, string>();
    let other = '';

    const asked = (url: string, body: unknown): string => `${url} ${typeof body === 'string' ? body : ''}`;

    const execute = (change: (asked: string, text: string) => string) =>
        client({
            rpcUrl: rpc_url,
            retries: 0,
            fetch: async (url: string, { body }: RequestInit) => {
                const text = recorded.get(asked(url, body));
                if (text === undefined) throw new Error(`nothing was recorded of ${url}`);
                return new Response(change(asked(url, body), text), {
                    headers: { 'content-type': 'application/json' },
                });
            },
        }).execute(agent, task, { idempotencyKey });

    beforeAll(async () => {
        const record = async (url: string, init: RequestInit): Promise<Response> => {
            const response = await fetch(url, init);
            const text = await response.text();
            recorded.set(asked(url, init.body), text);
            return new Response(text, response);
        };
        const buyer = client({ rpcUrl: rpc_url, fetch: record });
        await buyer.execute(agent, task, { idempotencyKey });
        const { execution_id } = await client().execute(agent, task);
        const answer = await fetch(`${base_url}/v1/executions/${execution_id}`, {
            headers: { authorization: `Bearer ${api_key}` },
        });
        other = await answer.text();
    });

    /** Changes a JSON text. */
    const json = (text: string, change: (value: any) => void): string => {
        const value: unknown = JSON.parse(text);
        change(value);
        return JSON.stringify(value);
    };
    const flipped = (bytes: Uint8Array, at: number, random: (below: number) => number): Uint8Array => {
        const copy = bytes.slice();
        copy[at] = (copy[at] ?? 0) ^ (1 + random(255));
        return copy;
    };

    const inAnswer = (change: (answer: any) => void) => (about: string, text: string) =>
        about.includes('/execute ') ? json(text, change) : text;
    /** Changes the bytes of an account: 0 is the record, 1 the listing. */
    const inAccount = (which: number, change: (bytes: Uint8Array) => Uint8Array) => (about: string, text: string) =>
        about.includes('getMultipleAccounts')
            ? json(text, ({ result }) => {
                  const { data } = result.value[which];
                  data[0] = Buffer.from(change(Buffer.from(data[0], 'base64'))).toString('base64');
              })
            : text;
    const inProof = (change: (bytes: Uint8Array) => Uint8Array) => (about: string, text: string) =>
        about.includes('getTransaction')
            ? json(text, ({ result }) => {
                  const { accountKeys, instructions } = result.transaction.message;
                  for (const instruction of instructions) {
                      if (!String(accountKeys[instruction.programIdIndex]).startsWith('Ed25519')) continue;
                      instruction.data = base58(change(fromBase58(instruction.data)));
                  }
              })
            : text;
    const inTransfers = (random: (below: number) => number) => (about: string, text: string) =>
        about.includes('getTransaction')
            ? json(text, ({ result }) => {
                  const { instructions } = result.transaction.message;
                  if (instructions.length < 3) return;
                  for (const { instructions } of result.meta.innerInstructions) {
                      const one = instructions[random(instructions.length)];
                      one.data = base58(flipped(fromBase58(one.data), 1 + random(4), random));
                  }
              })
            : text;

    type Tampering = (
        random: (below: number) => number,
    ) => [change: (about: string, text: string) => string, checks: string[]];
    const field =
        (from: number, to: number, ...checks: string[]): Tampering =>
        (random) => [inAccount(0, (bytes) => flipped(bytes, from + random(to - from), random)), checks];
    const tamperings: [string, Tampering][] = [
        [
            'a changed result',
            (random) => [inAnswer((answer) => (answer.result = changed(answer.result, random))), ['result']],
        ],
        [
            'a changed hash',
            (random) => [
                inAnswer(
                    (answer) =>
                        (answer.result_hash = `${answer.result_hash.slice(0, 7)}${random(2 ** 32)
                            .toString(16)
                            .padStart(64, '0')}`),
                ),
                ['result'],
            ],
        ],
        [
            'another address of the content',
            (random) => [inAnswer((answer) => (answer.ipfs_url = `${answer.ipfs_url}${random(9)}`)), ['address']],
        ],
        [
            'a changed signature',
            (random) => [inProof((bytes) => flipped(bytes, 48 + random(64), random)), ['signature']],
        ],
        ['another key', (random) => [inProof((bytes) => flipped(bytes, 16 + random(32), random)), ['key']]],
        [
            'another signed text',
            (random) => [inProof((bytes) => flipped(bytes, 112 + random(126), random)), ['message']],
        ],
        [
            'another form of the proof',
            (random) => [inProof((bytes) => flipped(bytes, 1 + random(15), random)), ['gate']],
        ],
        ['another agent in the record', field(8, 40, 'identity')],
        ['another caller in the record', field(40, 72, 'identity')],
        ['another hash in the record', field(104, 136, 'commitment')],
        ['another execution in the record', field(136, 152, 'identity')],
        ['another second in the record', field(168, 176, 'message')],
        ['another amount in the record', field(160, 164, 'payment')],
        ['another fee in the record', field(196, 198, 'split', 'payment')],
        [
            'another status in the record',
            (random) => [inAccount(0, (bytes) => bytes.with(200, [1, 3, 4, 5, 6][random(5)] ?? 0)), ['status']],
        ],
        ['an account of another kind', field(0, 8, 'record')],
        ['other transfers', (random) => [inTransfers(random), ['payment']]],
        [
            'another price',
            (random) => [inAnswer((answer) => (answer.cost_usdc = 0.02 + random(100) / 100)), ['amounts']],
        ],
        [
            'another time',
            (random) => [
                inAnswer((answer) => (answer.execution_time_ms = Number(answer.execution_time_ms) + 1 + random(9))),
                ['amounts'],
            ],
        ],
    ];

    const changed = (text: string, random: (below: number) => number): string => {
        const at = random(text.length);
        return text.slice(0, at) + (text[at] === 'x' ? 'y' : 'x') + text.slice(at + 1);
    };

    test('each of 100 random tamperings is refused with the name of the check', async () => {
        expect((await execute((_about, text) => text)).checks.map(({ name }) => name)).toEqual(CHECK_NAMES);
        const random = randomOf(30);
        let refused = 0;
        for (let at = 0; at < 100; at += 1) {
            const [name, tamper] = tamperings[at % tamperings.length] as (typeof tamperings)[number];
            const [change, checks] = tamper(random);
            const error = await execute(change).catch((error: unknown) => error);
            expect(error, name).toBeInstanceOf(VerificationError);
            expect(checks, name).toContain((error as VerificationError).check);
            refused += 1;
        }
        expect(refused).toBe(100);
    });

    test('a result that was never recorded is refused, with its own hash and address too', async () => {
        const hash = await resultHash('a lie');
        const lie = { result: 'a lie', result_hash: hash, ipfs_url: `${base_url}/ipfs/${cidOf(hash)}` };
        const error = await execute(inAnswer((answer) => Object.assign(answer, lie))).catch((error: unknown) => error);
        expect(error).toMatchObject({ check: 'commitment', idempotencyKey });
    });

    test('the result of another call is refused', async () => {
        const { execution_id } = JSON.parse(other);
        const buyer = client({
            rpcUrl: rpc_url,
            fetch: async (url: string, init: RequestInit) =>
                url.endsWith('/execute') ? new Response(other) : fetch(url, init),
        });
        const error = await buyer.execute(agent, task, { idempotencyKey }).catch((error: unknown) => error);
        expect(error).toMatchObject({ name: 'VerificationError', check: 'identity', executionId: execution_id });
    });

    test('an opening that another key signed is refused', async () => {
        const signer = base58(await sessionKeyOf(api_key));
        const another = base58(await sessionKeyOf(network.unfunded_api_key));
        const change = (about: string, text: string) =>
            about.includes('getTransaction') ? text.replaceAll(signer, another) : text;
        await expect(execute(change)).rejects.toMatchObject({ check: 'request' });
    });

    test('without a node nothing is said of a result, and it is not lost', async () => {
        const gone = async (url: string, init: RequestInit): Promise<Response> => {
            if (url === rpc_url) throw new Error('gone');
            return fetch(url, init);
        };
        const buyer = client({ rpcUrl: rpc_url, fetch: gone, timeoutMs: 1_500 });
        const error = await buyer.execute(agent, task, { idempotencyKey }).catch((error: unknown) => error);
        expect(error).toMatchObject({ name: 'NotVerifiableError', idempotencyKey });
        expect((await client().execute(agent, task, { idempotencyKey })).checks).toHaveLength(CHECK_NAMES.length);
    });
});

test(
    'whatever fails on the way, and however often the process is killed, each call is paid once and has its result',
    async () => {
        const calls = Number(process.env.CRTX_FAULT_CALLS ?? 40);
        const seed = Number(process.env.CRTX_FAULT_SEED ?? 30);
        const random = randomOf(seed);
        const proxy = await startProxy(base_url, random);
        const agent = agentOf('text-stats');
        const keys = Array.from({ length: calls }, () => crypto.randomUUID());
        const before = await usdcOf(network, wallet);
        const results = new Map<string, string>();
        let kills = 0;
        while (results.size < calls) {
            const left = keys.filter((key) => !results.has(key)).slice(0, 500);
            const most =
                left.length === calls - results.size && kills >= Math.max(3, calls / 100)
                    ? Infinity
                    : 1 + random(Math.min(40, calls / 4));
            const child = spawn('node', ['tests/support/buyer.mjs', proxy.url, agent, rpc_url, JSON.stringify(left)], {
                cwd: sdk,
                env: { ...process.env, CRTX_API_KEY: api_key },
                stdio: ['ignore', 'pipe', 'inherit'],
            });
            let got = 0;
            for await (const line of createInterface({ input: child.stdout })) {
                const { key, result, error, execution_id } = JSON.parse(line);
                expect(error).toBeUndefined();
                expect(execution_id).toBe(await executionIdOf(wallet, key));
                results.set(key, result);
                got += 1;
                // The calls that are under way have no result yet; the next process has their keys.
                if (got >= most && results.size < calls) child.kill('SIGKILL');
            }
            kills += child.killed ? 1 : 0;
            if (calls > 40) console.info(`${results.size} of ${calls} calls, ${kills} kills`);
        }
        proxy.close();
        for (const key of keys) expect(JSON.parse(results.get(key) ?? '{}')).toHaveProperty('words');
        expect(before - (await usdcOf(network, wallet))).toBe(BigInt(calls) * 10_000n);
        expect(kills).toBeGreaterThan(0);
        for (const fault of FAULTS) expect(proxy.counts.get(fault), fault).toBeGreaterThan(0);
        console.info(`seed ${seed}: ${calls} calls, ${kills} kills, faults`, Object.fromEntries(proxy.counts));
    },
    Math.max(300_000, Number(process.env.CRTX_FAULT_CALLS ?? 0) * 2_000),
);

test('a wallet without an API key pays once by itself, and each result is checked', async () => {
    const { signer } = await newWallet('buyer');
    const agent = agentOf('text-stats');
    const buyer = withWallet(base_url, signer, { rpcUrl: rpc_url });
    const before = await usdcOf(network, signer.address);
    const idempotencyKey = 'order-7';
    const { terms_hash: termsHash } = await buyer.agents.get(agent);
    const bought = await buyer.execute(agent, 'One two.', { idempotencyKey, termsHash });
    expect(bought.execution_id).toBe(await executionIdOf(signer.address, idempotencyKey));
    expect(bought.checks.map(({ name }) => name)).toEqual(CHECK_NAMES);
    expect(bought.checks.find(({ name }) => name === 'request')?.detail).toContain(signer.address);
    const again = withWallet(base_url, signer, { rpcUrl: rpc_url });
    expect(await again.execute(agent, 'One two.', { idempotencyKey })).toEqual(bought);
    await expect(again.execute(agent, 'Another task.', { idempotencyKey })).rejects.toMatchObject({ code: 'conflict' });
    const wrong = again.execute(agent, 'One.', { parameters: { top_words: 'many' } });
    await expect(wrong).rejects.toThrow('input_schema');
    await expect(again.execute(agent, 'One.', { termsHash: bought.result_hash })).rejects.toThrow('terms');
    await expect(buyer.refund(bought.execution_id)).rejects.toThrow('ended already');
    expect(await usdcOf(network, signer.address)).toBe(before - 10_000n);
    const { execution_id } = await buyer.start(agent, 'Three words more.');
    expect((await buyer.wait(execution_id)).result).toContain('"words":3');
    expect(await usdcOf(network, signer.address)).toBe(before - 20_000n);
    const report = await crtx(network, ['verify', execution_id], path.join(network.folder, 'buyer.json'));
    expect(report).toMatchObject({ verified: true, outcome: 'paid' });
});

// The last one, because it sets the chain's clock ahead.
test('the standard tools list, open, settle and refund, and read every account', async () => {
    const [creator, caller] = [(await newWallet('kit-creator')).signer, (await newWallet('kit-caller')).signer];
    const { keypair } = await newWallet('kit-result-key');
    const tools = new StandardTools(rpc_url, creator, caller, await signerOf(readFileSync(keypair, 'utf8')));
    expect(await tools.config()).toMatchObject({ usdcMint: network.usdc_mint, openingsPaused: 0 });
    const { address: resultKey } = tools.resultKey;
    const listed = await tools.list();
    expect(listed).toMatchObject({ creator: creator.address, resultKey, price: PRICE, binding: 1, openExecutions: 0 });
    const before = await usdcOf(network, caller.address);
    const [settled, late, later] = [await tools.open(1), await tools.open(2), await tools.open(3)];
    expect(await tools.record(settled)).toMatchObject({ caller: caller.address, amount: PRICE, status: 1 });
    const hash = await resultHash('a result');
    await tools.settle(settled, hash);
    expect(await tools.record(settled)).toMatchObject({ status: 2, tokensUsed: 8, executionTimeMs: 7 });
    expect(await usdcOf(network, caller.address)).toBe(before - 3n * PRICE);

    const wallet = withWallet('http://127.0.0.1:1', caller, { rpcUrl: rpc_url });
    const id = '03030303-0303-0303-0303-030303030303';
    await expect(wallet.refund(id)).rejects.toThrow('can be settled until');
    const absoluteTimestamp = Date.now() + 600_000;
    const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'surfnet_timeTravel',
        params: [{ absoluteTimestamp }],
    });
    await fetch(rpc_url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await tools.refund(late);
    expect(await tools.record(late)).toMatchObject({ status: 4, amount: PRICE });
    await wallet.refund(id);
    expect(await tools.record(later)).toMatchObject({ status: 4, amount: PRICE });
    expect(await usdcOf(network, caller.address)).toBe(before - PRICE);
});

/** A new wallet with SOL and USDC. */
async function newWallet(name: string): Promise<{ keypair: string; signer: KeyPairSigner }> {
    const keypair = path.join(network.folder, `${name}.json`);
    await crtx(network, ['wallet', 'new', '--out', keypair]);
    await crtx(network, ['wallet', 'fund'], keypair);
    const bytes = Uint8Array.from(JSON.parse(readFileSync(keypair, 'utf8')) as number[]);
    return { keypair, signer: await createKeyPairSignerFromBytes(bytes) };
}

/** The manifest of the example: `crtx agent init` writes one for another function. */
function manifestOf(template: string, endpoint: string, task: string, failing: string): string {
    const [head = ''] = template.split('# JSON Schema of the `parameters`');
    return `${head.replace(/^endpoint = .*$/m, `endpoint = "${endpoint}"`).replace(/^price_usdc = .*$/m, 'price_usdc = "0.05"')}
[input_schema]
type = "object"

[output_schema]
type = "object"

[test]
task = "${task}"

[test.failing]
task = "${failing}"

[test.failing.parameters]
`;
}

async function freePort(): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    return port;
}

/** Resolves when somebody listens. */
async function listens(port: number): Promise<void> {
    await expect
        .poll(
            () =>
                new Promise((resolve) => {
                    const socket = connect(port, '127.0.0.1', () => {
                        socket.destroy();
                        resolve(true);
                    });
                    socket.on('error', () => resolve(false));
                }),
            { timeout: 20_000 },
        )
        .toBe(true);
}
