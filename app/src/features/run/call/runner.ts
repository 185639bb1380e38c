// Leads one call from its stored form to the agent: look at the chain, sign in, pay once, hand the request over. Every
// run but the one that made the id begins with a look at the chain, so it can be repeated at any time: the execution's
// id is chosen, and the chain has one record for it.

import { type Address, type Rpc, type Signature, type SolanaRpcApi, createSolanaRpc } from '@solana/kit';

import { readExecution } from '../../../chain/record';
import { sameBytes } from '../../../chain/accounts';
import { ApiError, type Schemas, api, asWallet, isSignedOut } from '../../../shared/api/client';
import { solText } from '../../../shared/money';
import type { Send } from '../../../shared/wallet/useSend';
import { CallProblem, handingOverProblem, openingProblem, unknownOutcome } from './problem';
import { openingOf, recordOf } from './opening';
import { requestHash } from './request';
import { type StoredCall, putCall, storedCall } from './stored';
import { coverProblem, readTerms } from './terms';
import { words } from '../words';

const t = words.stopped;

/** What the runner is doing. In `idle` and `stopped` it waits for the user. */
export type Stage =
    'idle' | 'looking' | 'signing-in' | 'checking' | 'signing' | 'confirming' | 'handing-over' | 'working' | 'stopped';

export type Progress = { readonly stage: Stage; readonly problem: CallProblem | null; readonly note: string | null };

export type Tools = {
    readonly network: Schemas['NetworkResponse'];
    readonly account: string;
    readonly send: Send;
    /** Opens a session of the wallet unless there is one. */
    readonly ensureSession: () => Promise<unknown>;
    /** The press that starts this call made its id, so nobody else can know it. */
    readonly isNew?: boolean;
};

/** A transaction that is not there by then never comes: a blockhash lasts about a minute and a half. */
const FORGOTTEN_MS = 150_000;
const LOOK_MS = 2_000;
/** How long the service is asked again while it does not answer or asks to come back later. */
const PATIENCE_MS = 120_000;
const LONGEST_PAUSE_MS = 10_000;
/** Errors that are the end of an execution, and not of the attempt to hand it over. */
const ENDINGS = new Set(['execution_timeout', 'execution_failed', 'interrupted', 'result_unavailable']);

const IDLE: Progress = { stage: 'idle', problem: null, note: null };

/** One call of this page. */
class Runner {
    progress: Progress = IDLE;
    readonly listeners = new Set<() => void>();
    #isRunning = false;

    set(stage: Stage, problem: CallProblem | null = null, note: string | null = null): void {
        this.progress = { stage, problem, note };
        for (const listener of this.listeners) listener();
    }

    /** Does nothing while the call is already running, in this tab or in another one. */
    async run(executionId: string, tools: Tools, mayPay: boolean): Promise<void> {
        if (this.#isRunning) return;
        this.#isRunning = true;
        try {
            await alone(executionId, () => this.#advance(executionId, tools, mayPay));
        } catch (error) {
            this.set('stopped', openingProblem(error));
        } finally {
            this.#isRunning = false;
        }
    }

    async #advance(executionId: string, tools: Tools, mayPay: boolean): Promise<void> {
        const call = storedCall(executionId);
        if (call === null) throw new CallProblem(t.elsewhere.title, t.elsewhere.text, 'unknown');
        if (call.wallet !== tools.account) {
            throw new CallProblem(
                t.otherWallet.title,
                t.otherWallet.text(call.wallet),
                call.signature === undefined ? 'wallet' : 'unknown',
            );
        }
        const rpcUrl = tools.network.rpc_url;
        if (rpcUrl === null) throw new CallProblem(t.noNode.title, t.noNode.text, 'wallet');
        const rpc = createSolanaRpc(rpcUrl);
        this.set('looking');
        const isUntouched = tools.isNew === true && call.signature === undefined;
        let isOpen = !isUntouched && (await this.#isOpened(rpc, call));
        if (!isOpen && call.signature !== undefined) isOpen = await this.#awaitOutcome(rpc, call);
        const mustPay = !isOpen;
        if (mustPay) {
            if (!mayPay) return this.set('idle');
            if (await this.#pay(rpc, call, tools)) return this.set('working');
        }
        await this.#handOver(call, tools, mustPay);
        this.set('working');
    }

    /** Whether the chain has the record of this call. It is the only proof that the call was paid. */
    async #isOpened(rpc: Rpc<SolanaRpcApi>, call: StoredCall): Promise<boolean> {
        const address = await recordOf(call);
        const found = await readExecution(rpc, address).catch((error: unknown) => {
            if (call.signature !== undefined) throw unknownOutcome();
            const why = error instanceof Error ? error.message : t.offline.noAnswer;
            throw new CallProblem(t.offline.title, t.offline.look(why), 'wallet');
        });
        if (found === null) return false;
        const isThis =
            found.record.agent === call.agentId &&
            (!found.terms || sameBytes(found.terms.requestHash, await requestHash(call)));
        if (!isThis) throw new CallProblem(t.otherRequest.title, t.otherRequest.text, 'escrow');
        return true;
    }

    /** After a signature with an unknown outcome: waits until the record exists or the transaction can never come. */
    async #awaitOutcome(rpc: Rpc<SolanaRpcApi>, call: StoredCall): Promise<boolean> {
        const signature = call.signature as Signature;
        while (Date.now() - (call.signedAt ?? 0) < FORGOTTEN_MS) {
            const answer = await rpc
                .getSignatureStatuses([signature], { searchTransactionHistory: true })
                .send()
                .catch(() => null);
            if (answer?.value[0]?.err) break;
            if (await this.#isOpened(rpc, call)) return true;
            await pause(LOOK_MS);
        }
        return this.#isOpened(rpc, call);
    }

    /** Resolves with `true` if the execution has ended already. */
    async #pay(rpc: Rpc<SolanaRpcApi>, call: StoredCall, tools: Tools): Promise<boolean> {
        this.set('signing-in');
        // Read meanwhile; the chain refuses the opening if something of it changes before.
        const reading = readTerms(rpc, call.agentId as Address);
        reading.catch(() => undefined);
        await tools.ensureSession().catch((error: unknown) => {
            const [title, why] =
                error instanceof ApiError ? [t.notLetIn, error.message] : [t.notSignedIn.title, t.notSignedIn.text];
            throw new CallProblem(title, t.notPaid(why), 'wallet');
        });
        this.set('checking');
        // The address of a closed record is free again, but the service still knows the execution.
        if (tools.isNew !== true && (await isKnown(call))) return true;
        const terms = await reading;
        if (terms.genesisHash !== call.genesisHash)
            throw new CallProblem(t.otherNetwork.title, t.otherNetwork.text, 'wallet');
        if (terms.termsHash !== call.termsHash || terms.price.toString() !== call.price) {
            throw new CallProblem(t.newTerms.title, t.newTerms.text, 'wallet');
        }
        const uncovered = coverProblem(terms);
        if (uncovered !== null) throw new CallProblem(words.uncovered.title, t.notPaid(uncovered), 'wallet');
        const instruction = await openingOf(call, terms);
        try {
            await tools.send([instruction], (step, signature, fee) => {
                if (step === 'signing')
                    this.set('signing', null, fee === undefined ? null : words.progress.fee(solText(fee)));
                // Stored before the first byte is sent.
                if (signature !== undefined) putCall({ ...call, signature, signedAt: Date.now() });
                if (step === 'confirming') this.set('confirming');
            });
        } catch (error) {
            // Perhaps another tab has paid this same call, or the transaction was taken after all.
            const sent = storedCall(call.executionId) ?? call;
            if (await this.#isOpened(rpc, sent)) return false;
            const problem = openingProblem(error);
            // A transaction that certainly never comes is forgotten, so that nobody waits for it.
            if (problem.money === 'wallet') putCall({ ...sent, signature: undefined, signedAt: undefined });
            throw problem;
        }
        return false;
    }

    /** `isPaidNow`: with a session that was there a moment ago. */
    async #handOver(call: StoredCall, tools: Tools, isPaidNow: boolean): Promise<void> {
        const started = Date.now();
        let [wait, hasSession, isAssumed] = [500, isPaidNow, isPaidNow];
        for (;;) {
            this.set('handing-over', null, wait > 500 ? words.progress.askingAgain : null);
            try {
                if (!hasSession) await tools.ensureSession();
                hasSession = true;
                await dispatch(call);
                putCall({ ...(storedCall(call.executionId) ?? call), handedOver: true });
                return;
            } catch (error) {
                // The session ended while the wallet was asked.
                if (isAssumed && isSignedOut(error)) {
                    [hasSession, isAssumed] = [false, false];
                    continue;
                }
                if (error instanceof ApiError && ENDINGS.has(error.code)) return;
                if (
                    error instanceof ApiError &&
                    error.status === 409 &&
                    error.retryAfterSeconds === null &&
                    (await hasEnded(call, tools))
                )
                    return;
                const isLater = error instanceof ApiError && (error.status === 0 || error.retryAfterSeconds !== null);
                if (!isLater || Date.now() - started > PATIENCE_MS) throw handingOverProblem(error);
                await pause(Math.min((error.retryAfterSeconds ?? 0) * 1_000 || wait, LONGEST_PAUSE_MS));
                wait = Math.min(wait * 2, LONGEST_PAUSE_MS);
            }
        }
    }
}

async function dispatch({ executionId, wallet, task, parameters }: StoredCall): Promise<void> {
    const body = { task, parameters: parameters as Record<string, never>, async: true };
    const path = { params: { path: { execution_id: executionId } } };
    await api.POST('/v1/executions/{execution_id}/dispatch', { ...asWallet(wallet), ...path, body });
}

async function isKnown({ executionId, wallet }: StoredCall): Promise<boolean> {
    try {
        await api.GET('/v1/executions/{execution_id}', {
            ...asWallet(wallet),
            params: { path: { execution_id: executionId } },
        });
        return true;
    } catch (error) {
        if (error instanceof ApiError && error.status === 404) return false;
        const message = error instanceof Error ? error.message : t.serviceSilent;
        throw new CallProblem(t.noService, t.notPaid(message), 'wallet');
    }
}

async function hasEnded(call: StoredCall, { network }: Tools): Promise<boolean> {
    const found = await readExecution(createSolanaRpc(network.rpc_url ?? ''), await recordOf(call)).catch(
        () => undefined,
    );
    return found === null || found?.terms === null;
}

/** Runs `work` unless another tab is working on the same call. */
async function alone(executionId: string, work: () => Promise<void>): Promise<void> {
    const { navigator } = globalThis as { navigator?: Partial<Navigator> };
    if (navigator?.locks === undefined) return work();
    await navigator.locks.request(`crtx.call.${executionId}`, { ifAvailable: true }, async (lock) => {
        if (lock === null) throw new CallProblem(t.otherTab.title, t.otherTab.text, 'unknown');
        await work();
    });
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const runners = new Map<string, Runner>();

export function runnerOf(executionId: string): Runner {
    const found = runners.get(executionId) ?? new Runner();
    runners.set(executionId, found);
    return found;
}
