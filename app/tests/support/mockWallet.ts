// A wallet of the wallet standard with a real key, for tests: it signs what it is given, or says no.

import { generateKeyPair, getAddressEncoder, getAddressFromPublicKey, signBytes } from '@solana/kit';
import type { Wallet, WalletAccount } from '@wallet-standard/base';

export class MockWallet {
    /** Makes every question end in a refusal, as if the user had said no. */
    refuses = false;
    /** What it makes of a message before it signs it. */
    change: (message: Uint8Array) => Uint8Array = (message) => message;
    /** What it makes of the signed transaction before it returns it. */
    garble: (signed: Uint8Array) => Uint8Array = (signed) => signed;
    /** Milliseconds until it answers. `null`: never. */
    delay: number | null = 0;
    versions: ('legacy' | 0)[] = [0];
    /** What the wallet was asked to do, in order. */
    readonly asked: string[] = [];

    private constructor(
        readonly account: WalletAccount,
        private readonly keys: CryptoKeyPair,
    ) {}

    static async make(): Promise<MockWallet> {
        const keys = await generateKeyPair();
        const address = await getAddressFromPublicKey(keys.publicKey);
        const account: WalletAccount = {
            address,
            publicKey: new Uint8Array(getAddressEncoder().encode(address)),
            chains: ['solana:localnet'],
            features: ['solana:signMessage', 'solana:signTransaction'],
            label: 'Mock account',
        };
        return new MockWallet(account, keys);
    }

    get wallet(): Wallet {
        return {
            version: '1.0.0',
            name: 'Mock wallet',
            icon: 'data:image/svg+xml;base64,PHN2Zy8+',
            chains: ['solana:localnet'],
            accounts: [this.account],
            features: {
                'standard:connect': {
                    version: '1.0.0',
                    connect: async () => this.answer('connect', { accounts: [this.account] }),
                },
                'solana:signMessage': {
                    version: '1.1.0',
                    signMessage: async ({ message }: { message: Uint8Array }) =>
                        this.answer('signMessage', [
                            { signedMessage: message, signature: await signBytes(this.keys.privateKey, message) },
                        ]),
                },
                'solana:signTransaction': {
                    version: '1.0.0',
                    supportedTransactionVersions: this.versions,
                    signTransaction: async ({ transaction }: { transaction: Uint8Array }) => {
                        const signedTransaction = this.garble(await this.signed(transaction));
                        if (this.delay !== 0)
                            await new Promise((resolve) => this.delay !== null && setTimeout(resolve, this.delay));
                        return this.answer('signTransaction', [{ signedTransaction }]);
                    },
                },
            },
        };
    }

    /** The message as it changed it, with the signature of the account in its first place. */
    private async signed(transaction: Uint8Array): Promise<Uint8Array> {
        const message = this.change(transaction.slice(1 + 64 * (transaction[0] ?? 0)));
        const signers = (message[0] ?? 0) < 128 ? (message[0] ?? 0) : (message[1] ?? 0);
        const signature = await signBytes(this.keys.privateKey, message);
        return Uint8Array.from([signers, ...signature, ...new Uint8Array(64 * Math.max(signers - 1, 0)), ...message]);
    }

    private answer<T>(what: string, answer: T): T {
        this.asked.push(what);
        if (this.refuses) throw new Error('User rejected the request.');
        return answer;
    }
}
