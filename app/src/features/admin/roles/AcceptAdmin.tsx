// The button with which the nominated admin accepts the role.

import type { Market } from '../../../chain/market';
import { getAcceptAdminInstructionAsync } from '../../../generated/instructions/acceptAdmin';
import { Panel } from '../../../shared/ui/Panel';
import { RoleHolder } from '../../market';
import { Action } from '../act/Action';
import { words } from '../words';

export const AcceptAdmin = ({ market: { config } }: { market: Market }) => (
    <Panel title={words.acceptAdmin.youAreNominatedAsTheNext}>
        <p className="row">
            {words.acceptAdmin.theAdminAtPresentIs} <RoleHolder address={config.admin} />
        </p>
        <Action
            label={words.acceptAdmin.becomeTheAdmin}
            question={words.acceptAdmin.becomeTheAdminOfTheMarketplace}
            effects={[words.acceptAdmin.atOnceYourWalletHasEvery, words.acceptAdmin.youCanHandTheRoleOn]}
            make={(nominee, { market }) => {
                if (market.config.pendingAdmin !== nominee.address)
                    throw new Error(words.acceptAdmin.theNominationWasWithdrawn);
                return getAcceptAdminInstructionAsync({ nominee });
            }}
            done={words.acceptAdmin.youAreTheAdmin}
        />
    </Panel>
);
