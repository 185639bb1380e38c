// Takes the role of the resolver away at once, for a key that was stolen or lost.

import { type Market, NOBODY } from '../../../chain/market';
import { getRemoveResolverInstructionAsync } from '../../../generated/instructions/removeResolver';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';

export const RemoveResolver = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>Remove the resolver</h3>
        <Action
            label="Remove the resolver"
            question="Remove the resolver at once?"
            isDangerous
            effects={[
                'At once: nobody decides disputes any more. This cannot be taken back.',
                'A successor takes office sixteen days after its announcement. Disputes wait until then; those that end undecided after 30 days while there is no resolver give their callers what the collateral covers.',
            ]}
            obstacle={config.resolver === NOBODY ? 'There is no resolver.' : undefined}
            make={asAdmin((admin, { market }) => {
                if (market.config.resolver === NOBODY) throw new Error('There is no resolver any more.');
                return getRemoveResolverInstructionAsync({ admin });
            })}
            done="The resolver is removed. Announce a successor now."
        />
    </>
);
