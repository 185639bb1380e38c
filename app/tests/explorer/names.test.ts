// What the explorer pages read: instructions and accounts by the generated client, and any bytes without a fault.

import { type Address, getAddressDecoder } from '@solana/kit';
import { describe, expect, it } from 'vitest';

import { inWords, programName, readAccount, readInstruction } from '../../src/features/explorer/names';
import { accountLink, accountLinkOf, addressIn, transactionLink } from '../../src/shared/explorer';
import { getCompleteExecutionInstructionDataEncoder } from '../../src/generated/instructions/completeExecution';
import { AGENT_MARKETPLACE_PROGRAM_ADDRESS as PROGRAM } from '../../src/generated/programs';
import { TOKEN_PROGRAM } from '../../src/chain/token';

const key = (byte: number): Address => getAddressDecoder().decode(new Uint8Array(32).fill(byte));

describe('the explorer', () => {
    it('names instructions of the marketplace with their arguments and accounts', () => {
        const data = getCompleteExecutionInstructionDataEncoder().encode({
            resultHash: new Uint8Array(32).fill(7),
            executionTimeMs: 5n,
            tokensUsed: null,
        });
        const accounts = Array.from({ length: 14 }, (_, index) => key(index + 1));
        const read = readInstruction({ programId: PROGRAM, accounts, data });
        expect(read.name).toBe('Complete execution');
        expect(read.arguments).toEqual([
            { name: 'Result hash', value: '07'.repeat(32), isAddress: false },
            { name: 'Execution time ms', value: '5', isAddress: false },
            { name: 'Tokens used', value: 'none', isAddress: false },
        ]);
        expect(read.accounts[3]).toMatchObject({ value: key(4), isAddress: true });
    });

    it('names transfers of tokens, and takes any other bytes', () => {
        const data = new Uint8Array(10);
        data[0] = 12;
        new DataView(data.buffer).setBigUint64(1, 99n, true);
        const transfer = readInstruction({ programId: TOKEN_PROGRAM, accounts: [], data });
        expect([transfer.name, transfer.arguments[0]?.value]).toEqual(['Transfer checked', '99']);
        for (const programId of [PROGRAM, TOKEN_PROGRAM, key(9)]) {
            for (const bytes of [[], [1], [12], Array.from({ length: 500 }, () => 255)]) {
                const read = readInstruction({ programId, accounts: [key(1)], data: new Uint8Array(bytes) });
                expect(read.accounts, String(bytes.length)).toEqual([{ name: '1', value: key(1), isAddress: true }]);
            }
        }
        expect(readAccount(PROGRAM, new Uint8Array(3))).toBeNull();
        expect(readAccount(key(9), new Uint8Array(300))).toBeNull();
    });

    it('names things in words', () => {
        expect(inWords('openedAtUnixS')).toBe('Opened at unix s');
        expect(programName(PROGRAM)).toBe('Marketplace');
        expect(programName('constructor')).toBeNull();
    });
});

describe('links to accounts and transactions', () => {
    const explorer = {
        account: 'https://explorer.example/address/{address}?c=1',
        transaction: 'https://explorer.example/tx/{signature}',
    };
    it('lead to the local pages on a local network, and to the named explorer on others', () => {
        const [local, devnet] = [
            { network: 'local', explorer },
            { network: 'devnet', explorer },
        ];
        expect(accountLink(local, 'A')).toBe('/explorer/account/A');
        expect(transactionLink(local, 'S')).toBe('/explorer/tx/S');
        expect(accountLink(devnet, 'A')).toBe('https://explorer.example/address/A?c=1');
        expect(transactionLink(devnet, 'S')).toBe('https://explorer.example/tx/S');
        expect(accountLink(undefined, 'A')).toBeUndefined();
        const link = `https://explorer.example/address/${key(7)}?cluster=custom`;
        expect(accountLinkOf(local, link)).toBe(`/explorer/account/${key(7)}`);
        expect(accountLinkOf(devnet, link)).toBe(link);
        expect(addressIn('https://explorer.example/')).toBeNull();
        expect(accountLinkOf(local, '/')).toBe('/');
    });
});
