// The connected wallet: its accounts, the balance of the chosen one, and the buttons that change or disconnect it.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Label } from 'react-aria-components/Label';
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup';

import { networkQuery } from '../../shared/api/queries';
import { formatSol, formatUsdc } from '../../shared/money';
import { part } from '../../shared/part';
import { short } from '../../shared/text/short';
import { visible } from '../../shared/text/visible';
import { Address } from '../../shared/ui/Address';
import { Button } from '../../shared/ui/Button';
import { Skeleton } from '../../shared/ui/Skeleton';
import { toast } from '../../shared/ui/toast';
import { balancesKey, balancesQuery } from '../../shared/wallet/balances';
import { LOCAL_WALLET } from '../../shared/wallet/local/name';
import { whyNot } from '../../shared/wallet/standard';
import type { Connection } from '../../shared/wallet/store';
import { leave } from '../../shared/wallet/useSession';
import { walletStore } from '../../shared/wallet/useWallet';
import styles from './Wallet.module.css';
import { words } from './words';

export type ConnectedProps = { connection: Connection; onProblem: (error: unknown) => void };

export function Connected({ connection, onProblem }: ConnectedProps) {
    const { wallet, account } = connection;
    const queries = useQueryClient();
    const isLocal = wallet.name === LOCAL_WALLET;
    const disconnect = (): void => void leave(queries).then(() => toast(words.connected.disconnected), onProblem);
    return (
        <>
            <h2>{visible(wallet.name)}</h2>
            {isLocal && <p className={styles.local}>{words.connected.local}</p>}
            {wallet.accounts.length > 1 && <Accounts connection={connection} />}
            <Address value={account.address} ends={6} />
            {(['messages', 'transactions'] as const).map((what) => {
                const reason = whyNot(wallet, account, what);
                return reason !== null && <p key={what}>{reason}</p>;
            })}
            <Holdings address={account.address} canFund={isLocal} onProblem={onProblem} />
            <Button onPress={disconnect}>{words.connected.disconnect}</Button>
        </>
    );
}

const Accounts = ({ connection: { wallet, account } }: { connection: Connection }) => (
    <RadioGroup
        className={styles.accounts ?? ''}
        value={account.address}
        onChange={(address) => {
            const chosen = wallet.accounts.find((candidate) => candidate.address === address);
            if (chosen !== undefined) walletStore().switchTo(chosen);
        }}
    >
        <Label className="small muted">{words.connected.actAs}</Label>
        {wallet.accounts.map(({ address, label }) => (
            <Radio key={address} value={address} className={styles.account ?? ''}>
                <span className={styles.accountName}>
                    {label === undefined ? words.connected.account : visible(label)}
                </span>
                <span className="mono muted">{short(address)}</span>
            </Radio>
        ))}
    </RadioGroup>
);

type HoldingsProps = { address: string; canFund: boolean; onProblem: (error: unknown) => void };

function Holdings({ address, canFund, onProblem }: HoldingsProps) {
    const { data: network } = useQuery(networkQuery);
    const { data: balances } = useQuery(balancesQuery(address, network?.rpc_url ?? null, network?.usdc_mint ?? ''));
    const queries = useQueryClient();
    const [funding, setFunding] = useState(false);
    const fundNow = async (): Promise<void> => {
        if (network === undefined) return;
        onProblem(null);
        setFunding(true);
        try {
            const { fund } = await part(() => import('../../shared/wallet/local/fund'));
            await fund(address, network);
            await queries.invalidateQueries({ queryKey: balancesKey(address) });
        } catch (error) {
            onProblem(error);
        } finally {
            setFunding(false);
        }
    };
    return (
        <>
            <dl className={styles.holdings}>
                <dt>{words.connected.usdc}</dt>
                <dd className="number">
                    {balances ? formatUsdc(balances.usdc) : <Skeleton height="1.5rem" width="6rem" />}
                </dd>
                <dt>{words.connected.sol}</dt>
                <dd className="number">
                    {balances ? formatSol(balances.lamports) : <Skeleton height="1.5rem" width="6rem" />}
                </dd>
            </dl>
            {canFund && (
                <Button onPress={() => void fundNow()} isPending={funding}>
                    {funding ? words.connected.funding : words.connected.fund}
                </Button>
            )}
        </>
    );
}
