// The state of an execution, with its name and colour.

import { Badge, type BadgeProps } from './Badge';
import { words } from './words';

export type ExecutionStatus = keyof typeof words.statuses;

const KINDS: Record<ExecutionStatus, NonNullable<BadgeProps['kind']>> = {
    pending: 'plain',
    running: 'accent',
    completed: 'good',
    failed: 'bad',
    disputed: 'warn',
    // No failure of the agent.
    expired: 'plain',
};

export const statusName = (status: ExecutionStatus): string => words.statuses[status];

export const StatusBadge = ({ status }: { status: ExecutionStatus }) => (
    <Badge kind={KINDS[status]}>{statusName(status)}</Badge>
);
