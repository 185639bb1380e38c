// The button with which the nominated admin accepts the role.

import type { Market } from '../../../chain/market';
import { getAcceptAdminInstructionAsync } from '../../../generated/instructions/acceptAdmin';
import { Panel } from '../../../shared/ui/Panel';
import { RoleHolder } from '../../market';
import { Action } from '../act/Action';
import { words } from '../words';

export const AcceptAdmin = ({ market: { config } }: { market: Market }) => (
    <Panel title={words.acceptAdmin.title}>
        <p className="row">
            {words.acceptAdmin.present} <RoleHolder address={config.admin} />
        </p>
        <Action
            label={words.acceptAdmin.accept}
            question={words.acceptAdmin.ask}
            effects={[words.acceptAdmin.effect, words.acceptAdmin.later]}
            make={(nominee, { market }) => {
                if (market.config.pendingAdmin !== nominee.address) throw new Error(words.acceptAdmin.withdrawn);
                return getAcceptAdminInstructionAsync({ nominee });
            }}
            done={words.acceptAdmin.done}
        />
    </Panel>
);
