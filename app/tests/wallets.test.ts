// Wallets as people have them: what they may change in a transaction, and what is refused before anything is sent.

import { AccountRole, type Address, type Instruction, getBase64Encoder, getTransactionDecoder } from '@solana/kit';
import type { Wallet } from '@wallet-standard/base';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { MAX_PRIORITY_FEE, feeText, networkFee } from '../src/chain/fee';
import { type Message, chargeOf, readMessage } from '../src/chain/message';
import { ED25519_PROGRAM_ADDRESS } from '../src/chain/proof';
import { SendError, type SendOptions, signAndSend } from '../src/chain/send';
import { isUnusable, isUsable, signMessage, signTransaction, versionFor, whyNot } from '../src/shared/wallet/standard';
import { MockWallet } from './support/mockWallet';
import { type Answers, BLOCKHASH, GOOD, fine, node } from './support/node';
import { walletBehaviours } from './support/walletBehaviours';

const { phantom, solflare, backpack, hardware, hostile, hostileToSeveral, read } = walletBehaviours();
const PROGRAM = 'SysvarC1ock11111111111111111111111111111111' as Address;
const ESCROW = 'SysvarRent111111111111111111111111111111111' as Address;
const CREATOR = 'SysvarS1otHashes111111111111111111111111111' as Address;

let mock: MockWallet;

beforeEach(async () => {
    mock = await MockWallet.make();
});

afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
});

const usable = (wallet: Wallet = mock.wallet) => {
    if (!isUsable(wallet)) throw new Error('The mock has what is needed.');
    return wallet;
};

/** Moves something of the wallet. */
const payment = (): Instruction => ({
    programAddress: PROGRAM,
    accounts: [
        { address: mock.account.address as Address, role: AccountRole.WRITABLE_SIGNER },
        { address: ESCROW, role: AccountRole.WRITABLE },
        { address: CREATOR, role: AccountRole.READONLY },
    ],
    data: new Uint8Array([1, 2, 3]),
});

/** A first instruction, a proof, and the settlement that needs it directly before. */
const settlement = (): Instruction[] => [
    { ...payment(), data: new Uint8Array([7]) },
    { programAddress: ED25519_PROGRAM_ADDRESS, data: new Uint8Array([1, 0, 5, 5]) },
    payment(),
];

type Sent = {
    readonly kind: string;
    readonly words: string;
    readonly calls: string[];
    readonly wire: Uint8Array[];
    readonly fee: bigint | undefined;
};

/** Sends with the mock wallet: how it ended, and which transactions the node got to send. */
async function send(
    instructions: readonly Instruction[],
    answers: Answers = {},
    options: Partial<SendOptions> = {},
): Promise<Sent> {
    const wire: Uint8Array[] = [];
    const sendTransaction = ([text]: [string]): string => {
        wire.push(new Uint8Array(getBase64Encoder().encode(text)));
        return 'x';
    };
    const calls = node({ ...GOOD, sendTransaction, ...answers });
    let fee: bigint | undefined;
    const sending = signAndSend({
        rpcUrl: 'http://node.example',
        feePayer: mock.account.address as Address,
        instructions,
        sign: (bytes) => signTransaction(usable(), mock.account, bytes, 'solana:localnet'),
        version: versionFor(usable()),
        onStep: (_step, _signature, known) => void (fee ??= known),
        ...options,
    });
    const [kind, words] = await sending.then(
        () => ['sent', ''],
        (error: unknown) => (error instanceof SendError ? [error.kind, error.message] : ['other', String(error)]),
    );
    return { kind: kind ?? '', words: words ?? '', calls, wire, fee };
}

const messageOf = (wire: Uint8Array | undefined): Message =>
    readMessage(getTransactionDecoder().decode(wire ?? new Uint8Array()).messageBytes);
const bytesOf = (wire: Uint8Array | undefined): Uint8Array =>
    new Uint8Array(getTransactionDecoder().decode(wire ?? new Uint8Array()).messageBytes);

const GOOD_WALLETS = {
    Phantom: (bytes: Uint8Array) => phantom(bytes),
    'Phantom on mainnet, with assertions': (bytes: Uint8Array) => phantom(bytes, { assertions: true }),
    Solflare: (bytes: Uint8Array) => solflare(bytes),
    'Solflare with assertions': (bytes: Uint8Array) => solflare(bytes, { assertions: true }),
    Backpack: backpack,
    'a hardware wallet': hardware,
};

for (const version of ['legacy', 0] as const) {
    for (const [name, change] of Object.entries(GOOD_WALLETS)) {
        test(`a wallet like ${name} pays and settles with a message of version ${version}`, async () => {
            mock.versions = ['legacy', ...(version === 0 ? [version] : [])];
            for (const instructions of [[payment()], settlement()]) {
                mock.change = change;
                const { kind, words, wire } = await send(instructions);
                expect([kind, words]).toEqual(['sent', '']);
                expect(read(bytesOf(wire[0])).isLegacy).toBe(version === 'legacy');
                // What was sent is what the wallet signed, and it has our instructions in their order.
                const programs = messageOf(wire[0]).parts.map(({ program }) => program);
                const own = programs.filter((program) =>
                    instructions.some(({ programAddress }) => programAddress === program),
                );
                expect(own).toEqual(instructions.map(({ programAddress }) => programAddress));
                const proof = programs.indexOf(ED25519_PROGRAM_ADDRESS);
                if (proof >= 0) expect(programs[proof + 1]).toBe(PROGRAM);
            }
        });
    }
}

/** The words that name what was done. */
const WORDS: Readonly<Record<string, string>> = {
    'replaces the destination': 'another instruction of the program',
    'adds a transfer': 'an added instruction: a transfer of 1 SOL to GThU',
    'changes the fee payer': 'is paid and signed by another account, GThU',
    'adds a fee payer before ours': 'is paid and signed by another account, GThU',
    'raises the fee': 'a priority fee of 0.014 SOL; at most 0.0005 SOL',
    'raises the fee without a limit': 'a priority fee of',
    'sets a budget twice': 'sets the same compute budget twice',
    'repeats an instruction': 'an added instruction: one of the program',
    'changes the data': 'another instruction of the program',
    'lets an account be changed': 'another role: it can be changed',
    'drops an instruction': 'lacks an instruction of the program',
    'drops everything': 'lacks an instruction of',
    'swaps the blockhash for a nonce': 'a durable nonce',
    'takes an unknown blockhash': 'another blockhash, which the network does not take',
    'adds another signer': 'needs a signature of GThU',
    'adds an account that an assertion could change': 'another role: it can be changed',
    'adds an instruction of an unknown program': 'one of the program GThU',
    'loads accounts from a table': 'an address lookup table',
    'writes something behind the message': 'cannot be read',
    'returns no message': 'not a whole transaction',
    'changes the order': 'in another order',
    'comes between proof and settlement with a budget':
        'an instruction of the ComputeBudget program between the proof and the settlement',
    'comes between proof and settlement with an assertion':
        'an instruction of the Lighthouse program between the proof and the settlement',
};

for (const [name, change] of Object.entries({ ...hostile, ...hostileToSeveral })) {
    test(`a hostile wallet that ${name} is refused in words, and nothing is sent`, async () => {
        const alone = name in hostile ? [[payment()]] : [];
        for (const instructions of [...alone, settlement()]) {
            mock.change = change;
            const { kind, words, calls } = await send(instructions, { isBlockhashValid: () => ({ value: false }) });
            expect(kind).toBe('altered');
            expect(words).toContain(WORDS[name]);
            expect(words).toMatch(/not sent\.$/);
            expect(calls).not.toContain('sendTransaction');
        }
    });
}

test.each([
    [
        'no signature',
        (signed: Uint8Array) => Uint8Array.from([...signed.slice(0, 1), ...new Uint8Array(64), ...signed.slice(65)]),
    ],
    [
        'a signature of something else',
        (signed: Uint8Array) => Uint8Array.from(signed, (byte, index) => (index === 5 ? byte ^ 1 : byte)),
    ],
    ['one signature more', (signed: Uint8Array) => Uint8Array.from([2, ...new Uint8Array(64), ...signed.slice(1)])],
    ['no signature at all', (signed: Uint8Array) => Uint8Array.from([0, ...signed.slice(65)])],
    ['a part of the transaction', (signed: Uint8Array) => signed.slice(0, -20)],
])('a wallet that returns %s is refused, and nothing is sent', async (_, garble) => {
    mock.garble = garble;
    const { kind, calls } = await send([payment()]);
    expect(kind).toBe('altered');
    expect(calls).not.toContain('sendTransaction');
});

test('the page sets a compute limit with room for assertions, and a priority fee from recent ones', async () => {
    const { wire, fee } = await send([payment()], {
        getRecentPrioritizationFees: () =>
            [10, 40, 20, 30].map((prioritizationFee, slot) => ({ slot, prioritizationFee })),
    });
    const charge = chargeOf(messageOf(wire[0]));
    expect(charge).toEqual({ signers: 1, proofs: 0, units: 86_000, price: 40n });
    // 86 000 units x 40 micro-lamports are 3.44 lamports, rounded up.
    expect([fee, networkFee(charge)]).toEqual([5_004n, 5_004n]);
});

test('the accounts that a transaction writes decide which recent fees count', async () => {
    const asked: unknown[] = [];
    await send([payment()], { getRecentPrioritizationFees: (params: never) => (asked.push(params), []) });
    expect(asked).toEqual([[[mock.account.address, ESCROW]]]);
});

test('a busy network never makes the priority fee higher than its limit', async () => {
    const { wire, fee } = await send([payment()], {
        getRecentPrioritizationFees: () => [{ slot: 1, prioritizationFee: 2_000_000_000 }],
    });
    expect(fee).toBeLessThanOrEqual(5_000n + MAX_PRIORITY_FEE);
    expect(fee).toBeGreaterThan(5_000n + (MAX_PRIORITY_FEE * 99n) / 100n);
    expect(networkFee(chargeOf(messageOf(wire[0])))).toBe(fee);
});

test('a wallet that can pay the fee and no priority sends without priority', async () => {
    let tries = 0;
    const { kind, fee } = await send([payment()], {
        getRecentPrioritizationFees: () => [{ slot: 1, prioritizationFee: 40 }],
        simulateTransaction: () =>
            (tries += 1) === 1 ? fine() : { value: { err: 'InsufficientFundsForFee', logs: [] } },
    });
    expect([kind, fee]).toEqual(['sent', 5_000n]);
});

test('the signature of a proof is charged, too', async () => {
    const { fee } = await send(settlement());
    expect(fee).toBe(10_000n);
    expect([feeText(), feeText(1)]).toEqual(['0.000005 to 0.000505 SOL', '0.00001 to 0.00051 SOL']);
});

test('a transaction without instructions of its own costs its signature', () => {
    expect(networkFee({})).toBe(5_000n);
    expect(networkFee({ signers: 2, proofs: 3, units: 1, price: 1n })).toBe(25_001n);
});

test('what a wallet added is tried out before it is sent', async () => {
    mock.change = GOOD_WALLETS['Phantom on mainnet, with assertions'];
    let tries = 0;
    const { kind, words, calls } = await send([payment()], {
        simulateTransaction: () =>
            (tries += 1) === 1 ? fine() : { value: { err: { InstructionError: [3, { Custom: 6_400 }] }, logs: [] } },
    });
    expect(kind).toBe('refused');
    expect(words).toContain('cannot succeed with what the wallet added');
    expect(calls).not.toContain('sendTransaction');
});

/** The last byte of the blockhash becomes another. */
const newBlockhash = (bytes: Uint8Array): Uint8Array => {
    const { keys } = read(bytes);
    const at = (read(bytes).isLegacy ? 3 : 4) + 1 + 32 * keys.length + 31;
    return Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ 1 : byte));
};

test('a slow wallet may put in a newer blockhash, and it is waited for as long as that one can be taken', async () => {
    mock.change = newBlockhash;
    let [height, sends] = [1_000, 0];
    const { kind } = await send([payment()], {
        isBlockhashValid: () => ({ value: true }),
        // The old blockhash ended at height 10; this one can be 150 blocks old at most.
        getBlockHeight: () => height,
        getSignatureStatuses: () => {
            height += 75;
            return { value: [(sends += 1) < 3 ? null : { err: null, confirmationStatus: 'confirmed' }] };
        },
    });
    expect(kind).toBe('sent');
    const late = await send([payment()], {
        isBlockhashValid: () => ({ value: true }),
        getBlockHeight: () => (height += 100),
        getSignatureStatuses: () => ({ value: [null] }),
    });
    expect(late.kind).toBe('expired');
});

test('a wallet that signs after the blockhash has ended leaves a transaction that can be signed again', async () => {
    mock.delay = 50;
    const { kind } = await send([payment()], {
        getBlockHeight: () => 11,
        getSignatureStatuses: () => ({ value: [null] }),
    });
    expect(kind).toBe('expired');
});

test('a wallet that never answers is given up, and its late signature is not sent', async () => {
    vi.useFakeTimers();
    mock.delay = 200_000;
    const sending = send([payment()]);
    await vi.advanceTimersByTimeAsync(190_000);
    await vi.advanceTimersByTimeAsync(100_000);
    const { kind, words, calls } = await sending;
    expect([kind, words]).toEqual(['expired', 'The wallet has not answered for three minutes. Nothing was sent.']);
    expect(calls).not.toContain('sendTransaction');
});

/** The mock's wallet with some of its features. */
const withFeatures = (...names: string[]): Wallet => ({
    ...mock.wallet,
    features: Object.fromEntries(
        Object.entries({ ...mock.wallet.features, 'solana:signAndSendTransaction': {} }).filter(([name]) =>
            names.includes(name),
        ),
    ),
});

test('a wallet that signs messages alone connects, and says why it cannot pay', async () => {
    const wallet = usable(withFeatures('standard:connect', 'solana:signMessage'));
    expect(whyNot(wallet, mock.account, 'messages')).toBeNull();
    expect(whyNot(wallet, mock.account, 'transactions')).toContain('cannot sign a transaction without sending it');
    const signature = await signMessage(wallet, mock.account, new Uint8Array([1]));
    expect(signature).toHaveLength(64);
    const { kind, words, calls } = await send(
        [payment()],
        {},
        { sign: (bytes) => signTransaction(wallet, mock.account, bytes, 'solana:localnet') },
    );
    expect([kind, words]).toEqual(['rejected', expect.stringContaining('cannot pay or change anything here')]);
    expect(calls).not.toContain('sendTransaction');
});

test('a wallet that signs transactions alone connects, pays, and says why it cannot sign in', async () => {
    const wallet = usable(withFeatures('standard:connect', 'solana:signTransaction'));
    expect(whyNot(wallet, mock.account, 'transactions')).toBeNull();
    await expect(signMessage(wallet, mock.account, new Uint8Array([1]))).rejects.toThrow(
        'cannot sign messages, so it cannot sign in here',
    );
    const { kind } = await send(
        [payment()],
        {},
        { sign: (bytes) => signTransaction(wallet, mock.account, bytes, 'solana:localnet') },
    );
    expect(kind).toBe('sent');
});

test('an account that cannot do what its wallet can is told apart from it', () => {
    const account = { ...mock.account, features: ['solana:signTransaction'] as const };
    expect(whyNot(usable(), account, 'messages')).toContain('cannot sign messages');
    expect(whyNot(usable(), account, 'transactions')).toBeNull();
});

test('a wallet that sends by itself is named as one that cannot be used', () => {
    const wallet = withFeatures('standard:connect', 'solana:signAndSendTransaction');
    expect([isUsable(wallet), isUnusable(wallet)]).toEqual([false, true]);
    expect(isUnusable({ ...wallet, chains: ['sui:mainnet'] })).toBe(false);
});

test('the blockhash that the page gave keeps its last block', async () => {
    const { calls } = await send([payment()], { getLatestBlockhash: () => BLOCKHASH });
    expect(calls).not.toContain('isBlockhashValid');
});
