// Who has which role, and how the admin changes it: by announcement, or at once where that cannot harm anybody.

import type { Market } from '../../../chain/market';
import { Panel } from '../../../shared/ui/Panel';
import { Roles, factsOfChain } from '../../market';
import { GatewayAuthority } from './GatewayAuthority';
import { Guardian } from './Guardian';
import { NominateAdmin } from './NominateAdmin';
import { RemoveResolver } from './RemoveResolver';
import { Succession } from './Succession';
import { words } from '../words';

export const RolesPanel = ({ market }: { market: Market }) => (
    <Panel title={words.rolesPanel.title}>
        <Roles facts={factsOfChain(market)} />
        <Succession market={market} />
        <RemoveResolver market={market} />
        <GatewayAuthority market={market} />
        <Guardian market={market} />
        <NominateAdmin market={market} />
    </Panel>
);
