// The one time that a key is shown: its owner saves it, then the wallet grants it what it may spend, then the service
// is told its name.

import { type Address, createSolanaRpc } from '@solana/kit';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';

import { readGrant } from '../../chain/grants';
import type { Schemas } from '../../shared/api/client';
import { UserText } from '../../shared/text/UserText';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Copy } from '../../shared/ui/Copy';
import { Failure } from '../../shared/ui/Failure';
import { Checkbox } from '../../shared/ui/Field';
import { Notice } from '../../shared/ui/Notice';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { TransactionState } from '../wallet';
import { Effects } from './Effects';
import { fundsQuery, readFunds } from './funds';
import { grantInstructions } from './grant';
import styles from './Keys.module.css';
import type { Limits } from './limits';
import { putPending, removePending } from './pending';
import { register } from './query';
import type { Registration } from './secret';

/** A key that was made and is not granted yet. It is nowhere but here. */
export type MadeKey = {
    readonly name: string;
    readonly text: string;
    readonly registration: Registration;
    readonly limits: Limits;
};

export type HandOverProps = {
    made: MadeKey;
    account: Address;
    network: Schemas['NetworkResponse'];
    onBack: () => void;
};

type Registering =
    { readonly stage: 'waiting' | 'busy' | 'done' } | { readonly stage: 'failed'; readonly error: unknown };

export function HandOver({ made, account, network, onBack }: HandOverProps) {
    const { name, text, limits, registration } = made;
    const { sessionKey } = registration;
    const { data: chain } = useQuery(fundsQuery(account, network));
    const queries = useQueryClient();
    const { status, isBusy, send } = useTransaction();
    const [isSaved, setSaved] = useState(false);
    const [registering, setRegistering] = useState<Registering>({ stage: 'waiting' });
    const isGranted = status.kind === 'done' || registering.stage !== 'waiting';
    useWarningBeforeLeaving(!isSaved && !isGranted);

    const registerNow = async (): Promise<void> => {
        setRegistering({ stage: 'busy' });
        try {
            await register({ wallet: account, name, ...registration });
            removePending(sessionKey);
            setRegistering({ stage: 'done' });
        } catch (error) {
            setRegistering({ stage: 'failed', error });
        } finally {
            void queries.invalidateQueries({ queryKey: ['keys', account] });
        }
    };
    const grant = async (): Promise<void> => {
        const rpc = createSolanaRpc(network.rpc_url ?? '');
        // If the outcome of a transaction is unknown, the chain may have the grant already.
        const found = status.kind === 'failed' ? await readGrant(rpc, account, sessionKey).catch(() => null) : null;
        if (found !== null) return registerNow();
        await send({
            build: async () => {
                const mint = network.usdc_mint as Address;
                const funds = await readFunds(rpc, account, mint);
                putPending({
                    wallet: account,
                    name,
                    ...registration,
                    genesisHash: network.genesis_hash,
                    createdAt: Date.now(),
                });
                return grantInstructions(funds, account, mint, sessionKey, limits);
            },
            after: registerNow,
        });
    };
    useEffect(() => {
        const isKnown = status.kind === 'failed' && !(status.cause === 'unreachable' && status.signature !== null);
        if (isKnown) removePending(sessionKey);
    }, [status, sessionKey]);
    return (
        <div className={styles.fields}>
            <Notice kind="warn" title="Save this key now">
                <p>
                    It is shown this one time. Nobody can show it again: this page does not keep it, and the service
                    stores only its public half. Keep it like money.
                </p>
                <code className={styles.secret}>{text}</code>
                <div className="row">
                    <Copy text={text} what="API key" look="plain" />
                </div>
            </Notice>
            {registering.stage === 'done' ? (
                <Done name={name} />
            ) : (
                <>
                    {chain && (
                        <section className="stack" aria-labelledby="effects">
                            <h2 id="effects">What your signature does</h2>
                            <Effects funds={chain[0]} costs={chain[1]} limits={limits} sessionKey={sessionKey} />
                        </section>
                    )}
                    {!isGranted && (
                        <>
                            <Checkbox
                                label="I have saved the key."
                                checked={isSaved}
                                disabled={isBusy}
                                onChange={(event) => setSaved(event.target.checked)}
                            />
                            <div className="row">
                                <Button look="primary" isDisabled={!isSaved} onPress={() => void grant()}>
                                    Sign and grant
                                </Button>
                                {!isBusy && (
                                    <Button look="danger" onPress={onBack}>
                                        Throw this key away
                                    </Button>
                                )}
                            </div>
                        </>
                    )}
                    {registering.stage === 'waiting' && <TransactionState status={status} done="The key is granted." />}
                    {registering.stage === 'busy' && (
                        <p role="status" className="muted">
                            Granted on the chain. Telling the service the name of the key …
                        </p>
                    )}
                    {registering.stage === 'failed' && (
                        <>
                            <Notice kind="warn" title="Granted, and not registered yet">
                                <p>
                                    The chain has the grant. The service does not know the name of the key yet, so the
                                    key may not work. You can close this page: the list of your keys goes on with it.
                                </p>
                            </Notice>
                            <Failure error={registering.error} onRetry={() => void registerNow()} />
                        </>
                    )}
                </>
            )}
        </div>
    );
}

const Done = ({ name }: { name: string }) => (
    <div role="status">
        <Notice kind="good" title="The key works">
            <p>
                <UserText text={name} /> is granted and registered. Send it as <code>Authorization: Bearer</code> with
                each call, or set <code>CRTX_API_KEY</code>.
            </p>
            <p>
                <Link to="/keys" className={buttonClass('primary')}>
                    All API keys
                </Link>
            </p>
        </Notice>
    </div>
);

/** The browser asks before it closes a page with a key that nobody has saved. */
function useWarningBeforeLeaving(isUnsaved: boolean): void {
    useEffect(() => {
        if (!isUnsaved) return;
        const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
        window.addEventListener('beforeunload', warn);
        return () => window.removeEventListener('beforeunload', warn);
    }, [isUnsaved]);
}
