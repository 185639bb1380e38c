// The button with which the nominated admin accepts the role.

import type { Market } from '../../../chain/market';
import { getAcceptAdminInstructionAsync } from '../../../generated/instructions/acceptAdmin';
import { Panel } from '../../../shared/ui/Panel';
import { RoleHolder } from '../../market';
import { Action } from '../act/Action';

export const AcceptAdmin = ({ market: { config } }: { market: Market }) => (
    <Panel title="You are nominated as the next admin">
        <p className="row">
            The admin at present is <RoleHolder address={config.admin} />
        </p>
        <Action
            label="Become the admin"
            question="Become the admin of the marketplace?"
            effects={[
                'At once: your wallet has every power on this page. The admin at present has none any more.',
                'You can hand the role on in the same way.',
            ]}
            make={(nominee, { market }) => {
                if (market.config.pendingAdmin !== nominee.address) throw new Error('The nomination was withdrawn.');
                return getAcceptAdminInstructionAsync({ nominee });
            }}
            done="You are the admin."
        />
    </Panel>
);
