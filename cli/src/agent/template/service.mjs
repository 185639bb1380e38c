// An example service of a creator: it counts words. Replace `work` with what your agent does.
//
//   node service.mjs
//
// Node.js 20 or later, no packages. PORT sets the port (default {{PORT}}), RESULT_KEY the file of the result key.
// The contract is in "Creator service protocol" of the project's docs/specification.md.

import { createHash, createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const PORT = Number(process.env.PORT ?? '{{PORT}}');
const KEY_FILE = process.env.RESULT_KEY ?? new URL('result-key.json', import.meta.url);
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
const MAX_REMEMBERED = 10_000;

/**
 * Your agent. Returns the result, a string. An exception becomes a failure: the caller gets the money back.
 */
async function work(task, parameters) {
  const words = task.split(/\s+/u).filter((word) => word !== '');
  const most = parameters.max_words ?? 100_000;
  if (words.length > most) {
    throw new Error(`the task has ${words.length} words, and max_words is ${most}`);
  }
  return JSON.stringify({ words: words.length, characters: [...task].length });
}

// ---- The protocol. There is nothing to change below this line. ----

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58(bytes) {
  let number = BigInt(`0x00${bytes.toString('hex')}`);
  let text = '';
  for (; number > 0n; number /= 58n) text = ALPHABET[Number(number % 58n)] + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = `1${text}`;
  }
  return text;
}

/** The bytes of an address, which has 32 of them. */
function addressBytes(text) {
  let number = 0n;
  for (const digit of text) {
    const value = ALPHABET.indexOf(digit);
    if (value < 0) throw new Error('execution_record is not an address');
    number = number * 58n + BigInt(value);
  }
  return Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
}

/** The key file has 64 numbers, as the Solana command line writes them: 32 of the seed, 32 of the public key. */
function readKey() {
  const bytes = Buffer.from(JSON.parse(readFileSync(KEY_FILE, 'utf8')));
  if (bytes.length !== 64) throw new Error(`${KEY_FILE} is not a key pair of 64 numbers`);
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), bytes.subarray(0, 32)]);
  return { privateKey: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }), address: base58(bytes.subarray(32)) };
}

const key = readKey();
const signed = (message) => `ed25519:${base58(sign(null, message, key.privateKey))}`;

/** Names this call in what is signed: the record on chain, and the second in which it was opened. */
function opening(request) {
  const second = Buffer.alloc(8);
  second.writeBigInt64LE(BigInt(request.opened_at_unix_s));
  return [addressBytes(request.execution_record), ':', second];
}

/** Signs the result: once for its content, once for this call. */
function completed(request, result) {
  const resultHash = `sha256:${createHash('sha256').update(result, 'utf8').digest('hex')}`;
  const answer = {
    execution_id: request.execution_id,
    status: 'completed',
    result,
    result_hash: resultHash,
    signature: signed(Buffer.from(resultHash, 'utf8')),
  };
  if (request.execution_record !== undefined) {
    const parts = ['crtx-call-v2:', ...opening(request), `:${resultHash}`];
    answer.call_signature = signed(Buffer.concat(parts.map((part) => Buffer.from(part))));
  }
  return answer;
}

/** Signs the failure. Without the signature, it is the gateway's word alone, and does not count. */
function failed(request, error) {
  const answer = {
    execution_id: request.execution_id,
    status: 'failed',
    result: null,
    result_hash: null,
    signature: null,
    error: String(error?.message ?? error).slice(0, 500),
  };
  if (request.execution_record !== undefined) {
    const parts = ['crtx-failure-v1:', ...opening(request)];
    answer.failure_signature = signed(Buffer.concat(parts.map((part) => Buffer.from(part))));
  }
  return answer;
}

/**
 * Answers by call. The same call can come twice; it is worked on once and answered alike. Execution ids are public once
 * a call is paid, so a stranger can send one with another task: that is another call.
 */
const answers = new Map();

function nameOf({ execution_id, execution_record, opened_at_unix_s, task, parameters }) {
  const call = JSON.stringify([execution_id, execution_record, opened_at_unix_s, task, parameters]);
  return createHash('sha256').update(call, 'utf8').digest('hex');
}

function answer(request) {
  const name = nameOf(request);
  const known = answers.get(name);
  if (known !== undefined) return known;
  const promise = (async () => work(request.task, request.parameters ?? {}))().then(
    (result) => completed(request, result),
    (error) => failed(request, error),
  );
  answers.set(name, promise);
  if (answers.size > MAX_REMEMBERED) answers.delete(answers.keys().next().value);
  return promise;
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_REQUEST_BYTES) throw new Error('the request is too large');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

const server = createServer(async (request, response) => {
  const send = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (request.method !== 'POST' || request.url !== '/execute') return send(404, { error: 'POST /execute', result_key: key.address });
  try {
    const body = await readBody(request);
    if (typeof body.execution_id !== 'string' || typeof body.task !== 'string') throw new Error('not an execution request');
    send(200, await answer(body));
  } catch (error) {
    send(400, { error: String(error?.message ?? error) });
  }
});

server.on('error', (error) => {
  console.error(error.code === 'EADDRINUSE' ? `port ${PORT} is in use; set another with PORT, and in agent.toml` : error.message);
  process.exit(1);
});

server.listen(PORT, '127.0.0.1', () => {
  console.log(`answers POST http://127.0.0.1:${server.address().port}/execute, signs as ${key.address}`);
});
