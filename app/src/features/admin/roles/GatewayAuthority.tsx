// Replaces the key with which the gateway settles, at once.

import type { Market } from '../../../chain/market';
import { getUpdateConfigInstructionAsync } from '../../../generated/instructions/updateConfig';
import { AddressAction } from './AddressAction';
import { words } from '../words';

export const GatewayAuthority = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>{words.gatewayAuthority.field}</h3>
        <AddressAction
            field="Next gateway authority"
            hint={words.gatewayAuthority.hint}
            label={words.gatewayAuthority.replace}
            question={words.gatewayAuthority.ask}
            isDangerous
            role="gatewayAuthority"
            config={config}
            effects={[words.gatewayAuthority.effect, words.gatewayAuthority.warning]}
            make={(admin, gatewayAuthority) =>
                getUpdateConfigInstructionAsync({ admin, gatewayAuthority, guardian: null })
            }
            done={words.gatewayAuthority.done}
        />
    </>
);
