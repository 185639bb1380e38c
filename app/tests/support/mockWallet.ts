// A wallet of the wallet standard with a real key, for tests: it signs what it is given, or says no.

import {
    type Address,
    generateKeyPair,
    getAddressEncoder,
    getAddressFromPublicKey,
    getTransactionDecoder,
    getTransactionEncoder,
    partiallySignTransaction,
    signBytes,
} from '@solana/kit';
import type { Wallet, WalletAccount } from '@wallet-standard/base';

export class MockWallet {
    /** Makes every question end in a refusal, as if the user had said no. */
    refuses = false;
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
            publicKey: new Uint8Array(getAddressEncoder().encode(address as Address)),
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
                'standard:connect': { version: '1.0.0', connect: async () => this.answer('connect', { accounts: [this.account] }) },
                'solana:signMessage': {
                    version: '1.1.0',
                    signMessage: async ({ message }: { message: Uint8Array }) =>
                        this.answer('signMessage', [{ signedMessage: message, signature: await signBytes(this.keys.privateKey, message) }]),
                },
                'solana:signTransaction': {
                    version: '1.0.0',
                    supportedTransactionVersions: [0],
                    signTransaction: async ({ transaction }: { transaction: Uint8Array }) => {
                        const signed = await partiallySignTransaction([this.keys], getTransactionDecoder().decode(transaction));
                        const signedTransaction = new Uint8Array(getTransactionEncoder().encode(signed));
                        return this.answer('signTransaction', [{ signedTransaction }]);
                    },
                },
            },
        };
    }

    private answer<T>(what: string, answer: T): T {
        this.asked.push(what);
        if (this.refuses) throw new Error('User rejected the request.');
        return answer;
    }
}
