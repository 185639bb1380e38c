// `/explorer/account/…`: one account of a local network, and the newest transactions about it.

import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';

import { type RawAccount, tokenAmount } from '../../chain/accounts';
import { TOKEN_PROGRAM } from '../../chain/token';
import { accountLink } from '../../shared/explorer';
import { formatSol } from '../../shared/money';
import { short } from '../../shared/text/short';
import { Address } from '../../shared/ui/Address';
import { Badge } from '../../shared/ui/Badge';
import { ExactTime } from '../../shared/ui/ExactTime';
import facts from '../../shared/ui/Facts.module.css';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import styles from './Explorer.module.css';
import { LocalOnly } from './LocalOnly';
import { programName, readAccount } from './names';
import { AccountName, Fact, Names } from './Parts';
import { type AccountView, accountQuery } from './query';
import { words } from './words';

const route = getRouteApi('/explorer/account/$address');

export function AccountPage() {
    const { address } = route.useParams();
    return (
        <Page title={words.account} heading={programName(address) ?? words.account}>
            <Address value={address} what="address" ends={10} />
            <LocalOnly href={(network) => accountLink(network, address)}>
                {(rpcUrl) => <Loaded key={address} address={address} rpcUrl={rpcUrl} />}
            </LocalOnly>
        </Page>
    );
}

function Loaded({ address, rpcUrl }: { address: string; rpcUrl: string }) {
    const { data: view, error, refetch } = useQuery(accountQuery(address, rpcUrl));
    if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
    if (view === undefined) return <Skeleton height="20rem" />;
    return (
        <>
            {view.account === null ? (
                <Notice kind="warn" title={words.noAccount}>
                    <p>{words.noAccountText}</p>
                </Notice>
            ) : (
                <Content account={view.account} />
            )}
            <Transactions view={view} />
        </>
    );
}

/** Bytes of an account of the token program. */
const TOKEN_BYTES = 165;

function Content({ account }: { account: NonNullable<RawAccount> }) {
    const read = readAccount(account.owner, account.data);
    const isToken = account.owner === TOKEN_PROGRAM && account.data.length === TOKEN_BYTES;
    return (
        <>
            <dl className={facts.list}>
                {read !== null && <Fact name={words.kind}>{read.name}</Fact>}
                <Fact name={words.owner}>
                    <AccountName address={account.owner} />
                </Fact>
                <Fact name={words.balance}>{words.sol(formatSol(account.lamports))}</Fact>
                {isToken && <Fact name={words.token}>{String(tokenAmount(account))}</Fact>}
                <Fact name={words.size}>{words.bytes(account.data.length)}</Fact>
            </dl>
            {read !== null && (
                <section className="stack" aria-labelledby="fields">
                    <h2 id="fields">{words.fields}</h2>
                    <Names values={read.fields} />
                </section>
            )}
        </>
    );
}

const Transactions = ({ view: { transactions } }: { view: AccountView }) => (
    <section className="stack" aria-labelledby="transactions">
        <h2 id="transactions">{words.transactions}</h2>
        {transactions.length === 0 && <p className="muted">{words.transactionsNone}</p>}
        <ul className={styles.transactions}>
            {transactions.map(({ signature, time, hasFailed }) => (
                <li key={signature}>
                    <Link to="/explorer/tx/$signature" params={{ signature }} className="mono">
                        {short(signature, 8)}
                    </Link>
                    {hasFailed && <Badge kind="bad">{words.failed}</Badge>}
                    {time !== null && (
                        <span className="small muted">
                            <ExactTime at={time} />
                        </span>
                    )}
                </li>
            ))}
        </ul>
    </section>
);
