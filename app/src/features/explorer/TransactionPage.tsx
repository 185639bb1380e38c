// `/explorer/tx/…`: one transaction of a local network.

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';

import type { WholeTransaction } from '../../chain/history';
import { transactionLink } from '../../shared/explorer';
import { formatSol, formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Address } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import { ExactTime } from '../../shared/ui/ExactTime';
import facts from '../../shared/ui/Facts.module.css';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Explorer.module.css';
import { Instructions } from './Instructions';
import { LocalOnly } from './LocalOnly';
import { AccountName, Fact } from './Parts';
import { transactionQuery } from './query';
import { words } from './words';

const route = getRouteApi('/explorer/tx/$signature');

export function TransactionPage() {
    const { signature } = route.useParams();
    return (
        <Page title={words.transaction}>
            <Address value={signature} what="signature" ends={10} />
            <LocalOnly href={(network) => transactionLink(network, signature)}>
                {(rpcUrl, usdcMint) => <Loaded signature={signature} rpcUrl={rpcUrl} usdcMint={usdcMint} />}
            </LocalOnly>
        </Page>
    );
}

type LoadedProps = { signature: string; rpcUrl: string; usdcMint: string };

function Loaded({ signature, rpcUrl, usdcMint }: LoadedProps) {
    const { data: transaction, error, refetch } = useQuery(transactionQuery(signature, rpcUrl));
    if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
    if (transaction === undefined) return <Skeleton height="20rem" />;
    if (transaction === null) {
        return (
            <Notice kind="warn" title={words.noTransaction}>
                <p>{words.noTransactionText}</p>
            </Notice>
        );
    }
    return (
        <>
            <Overview transaction={transaction} />
            <Instructions transaction={transaction} />
            <Balances transaction={transaction} usdcMint={usdcMint} />
            <Logs logs={transaction.logs} />
        </>
    );
}

const Overview = ({ transaction: { slot, time, hasFailed, fee } }: { transaction: WholeTransaction }) => (
    <dl className={facts.list}>
        <Fact name={words.outcome}>
            {hasFailed ? <Badge kind="bad">{words.failed}</Badge> : <Badge kind="good">{words.succeeded}</Badge>}
        </Fact>
        {time !== null && (
            <Fact name={words.time}>
                <ExactTime at={time} />
            </Fact>
        )}
        <Fact name={words.slot}>{slot.toLocaleString('en')}</Fact>
        <Fact name={words.fee}>{words.sol(formatSol(fee))}</Fact>
    </dl>
);

/** With the sign of the change. */
const signed = (change: bigint, text: string): string => `${change > 0n ? '+' : ''}${text}`;

type BalancesProps = { transaction: WholeTransaction; usdcMint: string };

function Balances({ transaction: { changes, lamports }, usdcMint }: BalancesProps) {
    const tokens = changes.filter(({ change }) => change !== 0n);
    const sol = lamports.filter(({ change }) => change !== 0n);
    return (
        <section className="stack" aria-labelledby="balances">
            <h2 id="balances">{words.balances}</h2>
            {tokens.length + sol.length === 0 && <p className="muted">{words.balancesNone}</p>}
            <dl className={facts.list}>
                {tokens.map(({ account, mint, change }) => (
                    <Fact key={`token ${account}`} name={<AccountName address={account} />}>
                        {signed(
                            change,
                            mint === usdcMint ? words.usdc(formatUsdc(change)) : words.units(String(change)),
                        )}
                    </Fact>
                ))}
                {sol.map(({ account, change }) => (
                    <Fact key={account} name={<AccountName address={account} />}>
                        {signed(change, words.sol(formatSol(change)))}
                    </Fact>
                ))}
            </dl>
        </section>
    );
}

const MOST_LINES = 200;

const Logs = ({ logs }: { logs: readonly string[] }) => (
    <section className="stack" aria-labelledby="logs">
        <h2 id="logs">{words.logs}</h2>
        {logs.length === 0 ? (
            <p className="muted">{words.logsNone}</p>
        ) : (
            <ol className={styles.logs}>
                {logs.slice(0, MOST_LINES).map((line, index) => (
                    <li key={index}>
                        <UserText text={line} />
                    </li>
                ))}
            </ol>
        )}
        {logs.length > MOST_LINES && <p className="small muted">{words.logsCut(MOST_LINES, logs.length)}</p>}
    </section>
);
