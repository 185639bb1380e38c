// Names the guardian, who may stop things in an emergency, or removes it.

import { type Market, NOBODY } from '../../../chain/market';
import { getUpdateConfigInstructionAsync } from '../../../generated/instructions/updateConfig';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { AddressAction } from './AddressAction';
import { words } from '../words';

export const Guardian = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>{words.guardian.field}</h3>
        <AddressAction
            field="Next guardian"
            hint={words.guardian.hint}
            label={words.guardian.name}
            question={words.guardian.ask}
            role="guardian"
            config={config}
            effects={[
                words.guardian.effect,
                words.guardian.limits,
                ...(config.guardian === NOBODY ? [] : [words.guardian.replaces]),
            ]}
            make={(admin, guardian) => getUpdateConfigInstructionAsync({ admin, gatewayAuthority: null, guardian })}
            done={words.guardian.done}
        />
        <Action
            label={words.guardian.remove}
            isDangerous
            effects={[words.guardian.removeEffect]}
            isGone={config.guardian === NOBODY}
            make={asAdmin((admin, { market }) => {
                if (market.config.guardian === NOBODY) throw new Error(words.guardian.none);
                return getUpdateConfigInstructionAsync({ admin, gatewayAuthority: null, guardian: NOBODY });
            })}
            done={words.guardian.removed}
        />
    </>
);
