// The name of an own agent, which leads to the page that manages it.

import { Link } from '@tanstack/react-router';

import { UserText } from '../../shared/text/UserText';
import { short } from '../../shared/text/short';
import type { Tab } from './manage/tabs';
import type { AgentRow } from './rows';

export const OwnAgentLink = ({ row, tab }: { row: AgentRow; tab?: Tab | undefined }) => (
    <Link to="/creator/agents/$agentId" params={{ agentId: row.agentId }} search={tab === undefined ? {} : { tab }}>
        {row.name === null ? <span className="mono">{short(row.agentId)}</span> : <UserText text={row.name} />}
    </Link>
);
