// The transactions of the page that manages an agent: one at a time, each built from the chain as it is at the press,
// so that a repeated press, a reload or another device never does a thing twice.

import { type Address, type Instruction, createSolanaRpc } from '@solana/kit';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { type OwnAgent, readOwnAgent } from '../../../chain/listing';
import type { AgentListed } from '../../../generated/accounts/agentListed';
import { networkQuery } from '../../../shared/api/queries';
import { type TransactionStatus, useTransaction } from '../../../shared/wallet/useTransaction';
import { reached } from '../query';
import { words } from './words';

export type Step = 'status' | 'collateral' | 'key' | 'leave';

/** The chain with a listing that the connected account owns. */
export type Owned = OwnAgent & { readonly listing: AgentListed };

export type Order = {
    readonly step: Step;
    /** Said once it is confirmed. */
    readonly done: string;
    /** Throws an error for the user if there is nothing to do, or if the program would refuse it. */
    readonly build: (
        own: { agent: Address; creator: Address },
        chain: Owned,
    ) => Promise<readonly Instruction[]> | readonly Instruction[];
    /** Once it is confirmed. */
    readonly after?: () => void;
};

export type Managing = {
    readonly status: TransactionStatus;
    /** The part of the page that the status belongs to. */
    readonly step: Step | null;
    readonly done: string;
    readonly isBusy: boolean;
    readonly send: (order: Order) => Promise<void>;
};

export function useManaging(agent: Address): Managing {
    const queries = useQueryClient();
    const transaction = useTransaction();
    const [current, setCurrent] = useState<{ step: Step; done: string } | null>(null);

    const send = async ({ step, done, build, after }: Order): Promise<void> => {
        if (transaction.isBusy) return;
        setCurrent({ step, done });
        await transaction.send({
            build: async (creator) => {
                const network = await queries.query({ ...networkQuery, staleTime: 'static' });
                const chain = await reached(
                    readOwnAgent(createSolanaRpc(network.rpc_url ?? ''), agent, creator, network.usdc_mint as Address),
                );
                const { listing } = chain;
                if (listing === null) throw new Error(words.useManaging.gone);
                if (listing.creator !== creator) throw new Error(words.useManaging.otherOwner);
                return build({ agent, creator }, { ...chain, listing });
            },
            ...(after && { after }),
        });
    };
    const { status, isBusy } = transaction;
    return { status, isBusy, step: current?.step ?? null, done: current?.done ?? '', send };
}
