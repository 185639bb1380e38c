// What a call costs, what the wallet has, what the transaction will do, and the button that pays.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { feeText } from '../../chain/fee';
import type { Schemas } from '../../shared/api/client';
import { promiseText } from '../../shared/cover';
import { formatSol, formatUsdc } from '../../shared/money';
import { part } from '../../shared/part';
import { Button } from '../../shared/ui/Button';
import { messageOf } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Skeleton } from '../../shared/ui/Skeleton';
import { balancesKey } from '../../shared/wallet/balances';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { useSession } from '../../shared/wallet/useSession';
import { useWallet } from '../../shared/wallet/useWallet';
import { WalletButton } from '../wallet';
import { type CallTerms, type Funds, fundsQuery } from './call/terms';
import { obstaclesOf } from './obstacles';
import styles from './Run.module.css';

type Network = Schemas['NetworkResponse'];

export type SummaryProps = {
    terms: CallTerms | undefined;
    network: Network | undefined;
    shownTermsHash: string;
    isBusy: boolean;
};

export function Summary({ terms, network, shownTermsHash, isBusy }: SummaryProps) {
    const { connection } = useWallet();
    const { session } = useSession();
    const wallet = connection?.account.address;
    const { data: funds } = useQuery(fundsQuery(wallet, network?.rpc_url ?? null, terms?.mint));
    const obstacles = terms && network ? obstaclesOf({ network, terms, shownTermsHash, connection, funds }) : [];
    const isReady = terms !== undefined && funds !== undefined && obstacles.length === 0;
    return (
        <div className={styles.card}>
            <h2>Cost</h2>
            <Figures terms={terms} funds={funds} isConnected={connection !== null} />
            <h3>What will happen</h3>
            {terms ? <Steps terms={terms} isSignedIn={Boolean(session)} /> : <Skeleton height="12rem" />}
            {obstacles.map(({ title, text, isFunds }) => (
                <Notice key={title} kind="warn" title={title}>
                    <p>{text}</p>
                    {isFunds && connection?.wallet.name === LOCAL_WALLET && network && (
                        <GetMoney address={connection.account.address} network={network} />
                    )}
                </Notice>
            ))}
            <p className="small">
                <strong>The result is public.</strong> The chain names its address, so everybody can read it, for good.
                Ask for nothing that must stay secret.
            </p>
            {connection === null ? (
                <div className={styles.connect}>
                    <p>Connect a wallet to pay.</p>
                    <WalletButton />
                </div>
            ) : (
                <Button look="primary" type="submit" isDisabled={!isReady}>
                    {isBusy
                        ? 'Checking …'
                        : terms
                          ? `Pay ${formatUsdc(terms.price)} USDC and run`
                          : 'Reading the chain …'}
                </Button>
            )}
        </div>
    );
}

const Figures = ({
    terms,
    funds,
    isConnected,
}: {
    terms: CallTerms | undefined;
    funds: Funds | undefined;
    isConnected: boolean;
}) => (
    <dl className={styles.figures}>
        <dt>Price of this call</dt>
        <dd className="number">
            {terms ? `${formatUsdc(terms.price)} USDC` : <Skeleton height="1.5rem" width="6rem" />}
        </dd>
        <dt>Your balance</dt>
        <dd className="number">
            {isConnected ? (
                funds ? (
                    `${formatUsdc(funds.usdc)} USDC`
                ) : (
                    <Skeleton height="1.5rem" width="6rem" />
                )
            ) : (
                '\u2013'
            )}
        </dd>
        <dt>Afterwards</dt>
        <dd className="number">
            {terms && funds
                ? funds.usdc >= terms.price
                    ? `${formatUsdc(funds.usdc - terms.price)} USDC`
                    : 'not enough'
                : '\u2013'}
        </dd>
        <dt>Promised cover</dt>
        <dd className="number">{terms ? promiseText(terms.minCover) : <Skeleton height="1.5rem" width="6rem" />}</dd>
        <dt>Network fee</dt>
        <dd className="number">{feeText()}</dd>
        <dt>Deposit, comes back</dt>
        <dd className="number">{terms ? `${formatSol(terms.rent)} SOL` : <Skeleton height="1.5rem" width="6rem" />}</dd>
    </dl>
);

const Steps = ({ terms, isSignedIn }: { terms: CallTerms; isSignedIn: boolean }) => (
    <ol className={styles.steps}>
        <li>
            {isSignedIn
                ? 'Your wallet signs one transaction.'
                : 'Your wallet signs in to this service, which costs nothing. Then it signs one transaction.'}
        </li>
        <li>The price moves into the escrow of the agent. Nobody can take it without a signed result.</li>
        <li>The agent works. It has {seconds(terms.timeoutSeconds)}.</li>
        <li>
            With a signed result{terms.binding ? ' for this very call' : ''}, the creator is paid. Otherwise all of it
            comes back to you, at the latest {seconds(terms.timeoutSeconds + terms.graceSeconds)} after you paid.
        </li>
    </ol>
);

export const seconds = (count: number): string => {
    if (count % 60 !== 0 || count < 60) return `${count} seconds`;
    return count === 60 ? 'one minute' : `${count / 60} minutes`;
};

/** A button that funds a wallet of the local network. */
export function GetMoney({ address, network }: { address: string; network: Network }) {
    const queries = useQueryClient();
    const [state, setState] = useState<{ isBusy: boolean; problem: string | null }>({ isBusy: false, problem: null });
    const get = async (): Promise<void> => {
        if (state.isBusy) return;
        setState({ isBusy: true, problem: null });
        try {
            const { fund } = await part(() => import('../../shared/wallet/local/fund'));
            await fund(address, network);
            await queries.invalidateQueries({ queryKey: balancesKey(address) });
            setState({ isBusy: false, problem: null });
        } catch (error) {
            setState({ isBusy: false, problem: messageOf(error) });
        }
    };
    return (
        <>
            <Button onPress={() => void get()}>{state.isBusy ? 'Sending money …' : 'Get 1 000 USDC and 10 SOL'}</Button>
            {state.problem !== null && <p role="alert">{state.problem}</p>}
        </>
    );
}
