// The wallet's paid executions, to choose the one that a dispute is about.

import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { api, asWallet, body } from '../../shared/api/client';
import { formatUsdc } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import { buttonClass } from '../../shared/ui/Button';
import { Empty } from '../../shared/ui/Empty';
import { Failure } from '../../shared/ui/Failure';
import { More } from '../../shared/ui/More';
import { Skeleton } from '../../shared/ui/Skeleton';
import { Table } from '../../shared/ui/Table';
import { Time } from '../../shared/ui/Time';
import styles from './Disputes.module.css';
import { words } from './words';

const t = words.choose;

const PAGE = 20;

export function ChooseExecution({ wallet }: { wallet: string }) {
    const list = useInfiniteQuery({
        queryKey: ['disputable-executions', wallet],
        queryFn: ({ pageParam, signal }) => {
            const query = {
                status: 'completed' as const,
                limit: PAGE,
                ...(pageParam !== null && { cursor: pageParam }),
            };
            return body(api.GET('/v1/executions', { ...asWallet(wallet), params: { query }, signal }));
        },
        initialPageParam: null as string | null,
        getNextPageParam: (last) => last.next_cursor,
    });
    const executions = list.data?.pages.flatMap((page) => page.executions);
    if (list.error) return <Failure error={list.error} onRetry={() => void list.refetch()} />;
    if (executions === undefined) return <Skeleton height="16rem" />;
    if (executions.length === 0) {
        return (
            <Empty title={t.none}>
                <p>{t.noneHint}</p>
                <Link to="/" className={buttonClass('primary')}>
                    {t.allAgents}
                </Link>
            </Empty>
        );
    }
    return (
        <>
            <p>{t.which}</p>
            <Table
                caption={t.caption}
                rows={executions}
                rowKey={({ execution_id }) => execution_id}
                columns={[
                    {
                        name: t.execution,
                        cell: ({ agent_name, execution_id }) => (
                            <Link to="/disputes/new" search={{ execution: execution_id }} className={styles.subject}>
                                <UserText text={agent_name} />
                                <span className="small mono">{short(execution_id, 8)}</span>
                            </Link>
                        ),
                    },
                    {
                        name: t.finished,
                        cell: ({ completed_at }) => (completed_at === null ? words.none : <Time iso={completed_at} />),
                    },
                    { name: words.paidUsdc, isNumber: true, cell: ({ cost_usdc }) => formatUsdc(cost_usdc) },
                ]}
            />
            <More list={list} shown={executions.length} what={t.one} />
        </>
    );
}
