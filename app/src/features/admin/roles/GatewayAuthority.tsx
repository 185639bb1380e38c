// Replaces the key with which the gateway settles, at once.

import type { Market } from '../../../chain/market';
import { getUpdateConfigInstructionAsync } from '../../../generated/instructions/updateConfig';
import { AddressAction } from './AddressAction';

export const GatewayAuthority = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>Gateway authority</h3>
        <AddressAction
            field="Next gateway authority"
            hint="The public key of the gateway’s new key pair."
            label="Replace the gateway authority"
            question="Replace the gateway authority at once?"
            isDangerous
            role="gatewayAuthority"
            config={config}
            effects={[
                'At once: the program takes results and failures from the new key alone. The old key can settle nothing any more.',
                'A gateway that still has the old key cannot end calls: their callers are refunded after the deadline. Give it the new key first.',
            ]}
            make={(admin, gatewayAuthority) =>
                getUpdateConfigInstructionAsync({ admin, gatewayAuthority, guardian: null })
            }
            done="The gateway authority is replaced."
        />
    </>
);
