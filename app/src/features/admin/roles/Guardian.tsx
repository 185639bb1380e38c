// Names the guardian, who may stop things in an emergency, or removes it.

import { type Market, NOBODY } from '../../../chain/market';
import { getUpdateConfigInstructionAsync } from '../../../generated/instructions/updateConfig';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { AddressAction } from './AddressAction';

export const Guardian = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>Guardian</h3>
        <AddressAction
            field="Next guardian"
            hint="A key for emergencies. It must be able to sign."
            label="Name the guardian"
            question="Name this key as the guardian?"
            role="guardian"
            config={config}
            effects={[
                'At once: this key may stop new calls and new listings, and suspend an agent.',
                'It resumes nothing and touches no money.',
                ...(config.guardian === NOBODY ? [] : ['The guardian at present has no power any more.']),
            ]}
            make={(admin, guardian) => getUpdateConfigInstructionAsync({ admin, gatewayAuthority: null, guardian })}
            done="The guardian is named."
        />
        <Action
            label="Remove the guardian"
            isDangerous
            effects={['At once: nobody but you can stop something. What is stopped stays stopped.']}
            isGone={config.guardian === NOBODY}
            make={asAdmin((admin, { market }) => {
                if (market.config.guardian === NOBODY) throw new Error('There is no guardian any more.');
                return getUpdateConfigInstructionAsync({ admin, gatewayAuthority: null, guardian: NOBODY });
            })}
            done="The guardian is removed."
        />
    </>
);
