// The figures of an agent, for its card and for its row.

import { Link } from '@tanstack/react-router';

import { formatCount, formatMs, formatShare } from '../../shared/figures';
import { short } from '../../shared/text/short';
import { Badge } from '../../shared/ui/Badge';
import styles from './Browse.module.css';
import type { ListedAgent } from './query';
import { words } from './words';

export type RecordFigures = { readonly executions: string; readonly success: string; readonly time: string };

/** What the agent has done so far. Before its first execution it has neither a success rate nor a time. */
export const recordOf = ({ total_executions: count, success_rate, avg_execution_time_ms: ms }: ListedAgent) =>
    ({
        executions: formatCount(count),
        success: count === 0 ? words.unknown : formatShare(success_rate),
        time: ms === 0 ? words.unknown : formatMs(ms),
    }) satisfies RecordFigures;

export const Creator = ({ creator: { pubkey, verified } }: Pick<ListedAgent, 'creator'>) => (
    <>
        <Link
            to="/creators/$wallet"
            params={{ wallet: pubkey }}
            className={`${styles.creatorLink} mono`}
            title={pubkey}
        >
            {short(pubkey)}
        </Link>
        {verified && (
            <>
                {' '}
                <Badge kind="good">{words.verified}</Badge>
            </>
        )}
    </>
);
