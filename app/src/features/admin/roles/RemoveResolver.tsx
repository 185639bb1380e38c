// Takes the role of the resolver away at once, for a key that was stolen or lost.

import { type Market, NOBODY } from '../../../chain/market';
import { getRemoveResolverInstructionAsync } from '../../../generated/instructions/removeResolver';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { words } from '../words';

export const RemoveResolver = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>{words.removeResolver.remove}</h3>
        <Action
            label={words.removeResolver.remove}
            question={words.removeResolver.ask}
            isDangerous
            effects={[words.removeResolver.effect, words.removeResolver.later]}
            obstacle={config.resolver === NOBODY ? words.removeResolver.vacant : undefined}
            make={asAdmin((admin, { market }) => {
                if (market.config.resolver === NOBODY) throw new Error(words.removeResolver.none);
                return getRemoveResolverInstructionAsync({ admin });
            })}
            done={words.removeResolver.done}
        />
    </>
);
