// What wallets do to the message that they are asked to sign, before they sign it: five kinds of wallets, and the ways of
// a hostile one. For the unit tests, and for the wallet that the browser tests put into a page.

/** Runs in pages, so it uses nothing from outside, and none of the code that it tests. Messages are bytes. */
export function walletBehaviours() {
    type Instruction = { program: string; accounts: string[]; data: number[] };
    /** `keys` in the order of the message; `signers`, `readonlySigners` and `readonlyOthers` are its header. */
    type Message = {
        isLegacy: boolean;
        signers: number;
        readonlySigners: number;
        readonlyOthers: number;
        keys: string[];
        blockhash: number[];
        instructions: Instruction[];
        /** Bytes of the table of lookups, with its length. */
        lookups: number[];
    };
    const BUDGET = 'ComputeBudget111111111111111111111111111111';
    const LIGHTHOUSE = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95';
    const SYSTEM = '11111111111111111111111111111111';
    const ED25519 = 'Ed25519SigVerify111111111111111111111111111';
    const RECENT_BLOCKHASHES = 'SysvarRecentB1ockHashes11111111111111111111';
    const THIEF = 'GThUX1Atko4tqhN2NaiTazWSeFWMuiUvfFnyJyUghFMJ';
    const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

    const toText = (bytes: readonly number[]): string => {
        let [value, text] = [bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n), ''];
        for (; value > 0n; value /= 58n) text = `${ALPHABET[Number(value % 58n)]}${text}`;
        const zeros = bytes.findIndex((byte) => byte !== 0);
        return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
    };
    const toBytes = (text: string): number[] => {
        let value = Array.from(text).reduce((sum, letter) => sum * 58n + BigInt(ALPHABET.indexOf(letter)), 0n);
        const bytes: number[] = [];
        for (; value > 0n; value >>= 8n) bytes.unshift(Number(value & 255n));
        return [...Array.from({ length: 32 - bytes.length }, () => 0), ...bytes];
    };
    const compact = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, value >> 7]);
    const little = (value: bigint, bytes: number): number[] =>
        Array.from({ length: bytes }, (_, index) => Number((value >> BigInt(8 * index)) & 255n));

    const read = (bytes: Uint8Array): Message => {
        let at = 0;
        const byte = (): number => bytes[at++] ?? 0;
        const take = (count: number): number[] => Array.from({ length: count }, byte);
        const length = (): number => {
            const first = byte();
            return first < 128 ? first : (first & 127) | (byte() << 7);
        };
        const isLegacy = (bytes[0] ?? 0) < 128;
        if (!isLegacy) at = 1;
        const [signers = 0, readonlySigners = 0, readonlyOthers = 0] = take(3);
        const keys = Array.from({ length: length() }, () => toText(take(32)));
        const blockhash = take(32);
        const keyAt = (index: number): string => keys[index] ?? 'none';
        const instructions = Array.from({ length: length() }, () => {
            const program = keyAt(byte());
            const accounts = take(length()).map(keyAt);
            return { program, accounts, data: take(length()) };
        });
        return {
            isLegacy,
            signers,
            readonlySigners,
            readonlyOthers,
            keys,
            blockhash,
            instructions,
            lookups: take(bytes.length - at),
        };
    };
    const write = (message: Message): Uint8Array => {
        const { isLegacy, signers, readonlySigners, readonlyOthers, keys, blockhash, instructions, lookups } = message;
        const indexOf = (key: string): number => keys.indexOf(key);
        return Uint8Array.from([
            ...(isLegacy ? [] : [128]),
            ...[signers, readonlySigners, readonlyOthers],
            ...compact(keys.length),
            ...keys.flatMap(toBytes),
            ...blockhash,
            ...compact(instructions.length),
            ...instructions.flatMap(({ program, accounts, data }) => [
                indexOf(program),
                ...compact(accounts.length),
                ...accounts.map(indexOf),
                ...compact(data.length),
                ...data,
            ]),
            ...(isLegacy ? [] : lookups),
        ]);
    };

    /** Adds what is missing, as an account that is only read. */
    const addReadonly = (message: Message, ...keys: string[]): void => {
        for (const key of new Set(keys.filter((key) => !message.keys.includes(key)))) {
            message.keys.push(key);
            message.readonlyOthers += 1;
        }
    };
    const addWritable = (message: Message, key: string): void => {
        message.keys.splice(message.keys.length - message.readonlyOthers, 0, key);
    };
    const addSigner = (message: Message, key: string): void => {
        message.keys.splice(message.signers, 0, key);
        message.signers += 1;
        message.readonlySigners += 1;
    };
    const insert = (message: Message, at: number, ...instructions: Instruction[]): void => {
        addReadonly(message, ...instructions.map(({ program }) => program));
        message.instructions.splice(at, 0, ...instructions);
    };
    const changed = (bytes: Uint8Array, change: (message: Message) => void): Uint8Array => {
        const message = read(bytes);
        change(message);
        return write(message);
    };

    const isBudget = ({ program }: Instruction): boolean => program === BUDGET;
    const limit = (units: number): Instruction => ({
        program: BUDGET,
        accounts: [],
        data: [2, ...little(BigInt(units), 4)],
    });
    const price = (microLamports: bigint): Instruction => ({
        program: BUDGET,
        accounts: [],
        data: [3, ...little(microLamports, 8)],
    });
    /** Asserts something about an account. */
    const assertion = (account: string): Instruction => ({
        program: LIGHTHOUSE,
        accounts: [account],
        data: [5, 0, 1, 0, 0, 0, 0, 0],
    });
    const transfer = (from: string, to: string, lamports: bigint): Instruction => ({
        program: SYSTEM,
        accounts: [from, to],
        data: [2, 0, 0, 0, ...little(lamports, 8)],
    });
    const payer = ({ keys }: Message): string => keys[0] ?? 'none';
    const lastOfOurs = ({ instructions }: Message): number =>
        instructions.findLastIndex((instruction) => !isBudget(instruction));

    /** Adds a compute budget where there is none; with `assertions` also assertions at the end. */
    const phantom = (bytes: Uint8Array, { assertions = false } = {}): Uint8Array =>
        changed(bytes, (message) => {
            if (!message.instructions.some(isBudget)) insert(message, 0, limit(400_000), price(20_000n));
            if (!assertions) return;
            insert(
                message,
                message.instructions.length,
                assertion(payer(message)),
                assertion(message.keys[1] ?? payer(message)),
            );
        });

    /** Puts its own compute budget in the place of the page's; with `assertions` one at either end. */
    const solflare = (bytes: Uint8Array, { assertions = false } = {}): Uint8Array =>
        changed(bytes, (message) => {
            message.instructions = message.instructions.filter((instruction) => !isBudget(instruction));
            insert(message, 0, price(50_000n), limit(600_000));
            if (!assertions) return;
            insert(message, 2, assertion(payer(message)));
            insert(message, message.instructions.length, assertion(payer(message)));
        });

    /** Lets its user choose the price, and writes the message anew: other accounts are in another order, the budget is last. */
    const backpack = (bytes: Uint8Array): Uint8Array =>
        changed(bytes, (message) => {
            const { keys, signers, readonlySigners, readonlyOthers } = message;
            const parts = [signers - readonlySigners, signers, keys.length - readonlyOthers, keys.length];
            const sorted = parts.flatMap((end, index) => {
                const group = keys.slice(index === 0 ? 1 : parts[index - 1], end);
                return group.toReversed();
            });
            message.keys = [payer(message), ...sorted];
            const limits = message.instructions.filter(({ program, data }) => program === BUDGET && data[0] === 2);
            message.instructions = message.instructions.filter((instruction) => !isBudget(instruction));
            insert(message, message.instructions.length, ...limits, price(100_000n));
        });

    /** Signs what it is given, as it is. */
    const hardware = (bytes: Uint8Array): Uint8Array => bytes;

    /** Each is refused. The first change of our own instruction is one of the last of ours. */
    const hostile: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
        'replaces the destination': (bytes) =>
            changed(bytes, (message) => {
                const own = message.instructions[lastOfOurs(message)];
                const at = (own?.accounts.length ?? 0) > 1 ? 1 : 0;
                addReadonly(message, THIEF);
                if (own !== undefined) own.accounts[at] = THIEF;
            }),
        'adds a transfer': (bytes) =>
            changed(bytes, (message) => {
                addWritable(message, THIEF);
                insert(message, message.instructions.length, transfer(payer(message), THIEF, 1_000_000_000n));
            }),
        'changes the fee payer': (bytes) =>
            changed(bytes, (message) => {
                const before = payer(message);
                message.keys[0] = THIEF;
                for (const own of message.instructions)
                    own.accounts = own.accounts.map((key) => (key === before ? THIEF : key));
            }),
        'adds a fee payer before ours': (bytes) =>
            changed(bytes, (message) => {
                message.keys.unshift(THIEF);
                message.signers += 1;
            }),
        'raises the fee': (bytes) =>
            changed(bytes, (message) => {
                message.instructions = message.instructions.filter((instruction) => !isBudget(instruction));
                insert(message, 0, limit(1_400_000), price(10_000_000n));
            }),
        'raises the fee without a limit': (bytes) =>
            changed(bytes, (message) => {
                message.instructions = message.instructions.filter((instruction) => !isBudget(instruction));
                insert(message, 0, price(2n ** 63n));
            }),
        'sets a budget twice': (bytes) => changed(bytes, (message) => insert(message, 0, price(0n))),
        'repeats an instruction': (bytes) =>
            changed(bytes, (message) => {
                const own = message.instructions[lastOfOurs(message)];
                if (own !== undefined) message.instructions.push({ ...own });
            }),
        'changes the data': (bytes) =>
            changed(bytes, (message) => {
                const own = message.instructions[lastOfOurs(message)];
                if (own !== undefined) own.data[own.data.length - 1] = (own.data.at(-1) ?? 0) ^ 1;
            }),
        'lets an account be changed': (bytes) => changed(bytes, (message) => void (message.readonlyOthers -= 1)),
        'drops an instruction': (bytes) =>
            changed(bytes, (message) => void message.instructions.splice(lastOfOurs(message), 1)),
        'drops everything': (bytes) =>
            changed(bytes, (message) => void (message.instructions = message.instructions.filter(isBudget))),
        'swaps the blockhash for a nonce': (bytes) =>
            changed(bytes, (message) => {
                addWritable(message, THIEF);
                addReadonly(message, RECENT_BLOCKHASHES);
                message.blockhash = toBytes(THIEF);
                insert(message, 0, {
                    program: SYSTEM,
                    accounts: [THIEF, RECENT_BLOCKHASHES, payer(message)],
                    data: [4, 0, 0, 0],
                });
            }),
        'takes an unknown blockhash': (bytes) => changed(bytes, (message) => void (message.blockhash = toBytes(THIEF))),
        'adds another signer': (bytes) =>
            changed(bytes, (message) => {
                addSigner(message, THIEF);
                insert(message, message.instructions.length, assertion(THIEF));
            }),
        'adds an account that an assertion could change': (bytes) =>
            changed(bytes, (message) => {
                addWritable(message, THIEF);
                insert(message, message.instructions.length, assertion(THIEF));
            }),
        'adds an instruction of an unknown program': (bytes) =>
            changed(bytes, (message) => insert(message, 0, { program: THIEF, accounts: [], data: [1] })),
        'loads accounts from a table': (bytes) =>
            changed(bytes, (message) => {
                message.isLegacy = false;
                message.lookups = [1, ...toBytes(THIEF), 0, 1, 0];
            }),
        'writes something behind the message': (bytes) => Uint8Array.from([...bytes, 0]),
        'returns no message': () => new Uint8Array(),
    };

    /** Where there are several instructions, or a settlement with its proof. */
    const hostileToSeveral: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
        'changes the order': (bytes) =>
            changed(bytes, (message) => {
                const isOurs = (instruction: Instruction): boolean => !isBudget(instruction);
                const ours = message.instructions.filter(isOurs);
                message.instructions = message.instructions.map((instruction) =>
                    isOurs(instruction) ? (ours.pop() ?? instruction) : instruction,
                );
            }),
        'comes between proof and settlement with a budget': (bytes) =>
            changed(bytes, (message) => {
                const at = message.instructions.findIndex(({ program }) => program === ED25519) + 1;
                insert(message, at, { program: BUDGET, accounts: [], data: [1, ...little(65_536n, 4)] });
            }),
        'comes between proof and settlement with an assertion': (bytes) =>
            changed(bytes, (message) =>
                insert(
                    message,
                    message.instructions.findIndex(({ program }) => program === ED25519) + 1,
                    assertion(payer(message)),
                ),
            ),
    };

    return { phantom, solflare, backpack, hardware, hostile, hostileToSeveral, read, write };
}
