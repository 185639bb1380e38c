// Bytes as Solana writes them.

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

export function base58(bytes: Buffer): string {
    let [number, text] = [BigInt(`0x00${bytes.toString('hex')}`), ''];
    for (; number > 0n; number /= 58n) text = `${ALPHABET[Number(number % 58n)]}${text}`;
    const zeros = bytes.findIndex((byte) => byte !== 0);
    return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** `length`: how many bytes they are, such as 32 for an address and 64 for a secret key. */
export function fromBase58(text: string, length: number): Buffer {
    const number = Array.from(text).reduce((sum, digit) => sum * 58n + BigInt(ALPHABET.indexOf(digit)), 0n);
    return Buffer.from(number.toString(16).padStart(2 * length, '0'), 'hex');
}
