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
import { words } from './words';

const t = words.handOver;

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
            <Notice kind="warn" title={t.save}>
                <p>{t.saveHint}</p>
                <code className={styles.secret}>{text}</code>
                <div className="row">
                    <Copy text={text} what={t.copied} look="plain" />
                </div>
            </Notice>
            {registering.stage === 'done' ? (
                <Done name={name} />
            ) : (
                <>
                    {chain && (
                        <section className="stack" aria-labelledby="effects">
                            <h2 id="effects">{t.whatYouSign}</h2>
                            <Effects funds={chain[0]} costs={chain[1]} limits={limits} sessionKey={sessionKey} />
                        </section>
                    )}
                    {!isGranted && (
                        <>
                            <Checkbox
                                label={t.saved}
                                checked={isSaved}
                                disabled={isBusy}
                                onChange={(event) => setSaved(event.target.checked)}
                            />
                            <div className="row">
                                <Button look="primary" isDisabled={!isSaved} onPress={() => void grant()}>
                                    {t.sign}
                                </Button>
                                {!isBusy && (
                                    <Button look="danger" onPress={onBack}>
                                        {t.discard}
                                    </Button>
                                )}
                            </div>
                        </>
                    )}
                    {registering.stage === 'waiting' && <TransactionState status={status} done={t.granted} />}
                    {registering.stage === 'busy' && (
                        <p role="status" className="muted">
                            {t.registering}
                        </p>
                    )}
                    {registering.stage === 'failed' && (
                        <>
                            <Notice kind="warn" title={t.notRegistered}>
                                <p>{t.notRegisteredHint}</p>
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
        <Notice kind="good" title={t.works}>
            <p>
                <UserText text={name} /> {t.worksHint} <code>{t.header}</code> {t.or} <code>{t.variable}</code>.
            </p>
            <p>
                <Link to="/keys" className={buttonClass('primary')}>
                    {words.allKeys}
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
