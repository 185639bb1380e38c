// Names the guardian, who may stop things in an emergency, or removes it.

import { type Market, NOBODY } from '../../../chain/market';
import { getUpdateConfigInstructionAsync } from '../../../generated/instructions/updateConfig';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { AddressAction } from './AddressAction';
import { words } from '../words';

export const Guardian = ({ market: { config } }: { market: Market }) => (
    <>
        <h3>{words.guardian.guardian}</h3>
        <AddressAction
            field="Next guardian"
            hint={words.guardian.aKeyForEmergenciesItMust}
            label={words.guardian.nameTheGuardian}
            question={words.guardian.nameThisKeyAsTheGuardian}
            role="guardian"
            config={config}
            effects={[
                words.guardian.atOnceThisKeyMayStop,
                words.guardian.itResumesNothingAndTouchesNo,
                ...(config.guardian === NOBODY ? [] : [words.guardian.theGuardianAtPresentHasNo]),
            ]}
            make={(admin, guardian) => getUpdateConfigInstructionAsync({ admin, gatewayAuthority: null, guardian })}
            done={words.guardian.theGuardianIsNamed}
        />
        <Action
            label={words.guardian.removeTheGuardian}
            isDangerous
            effects={[words.guardian.atOnceNobodyButYouCan]}
            isGone={config.guardian === NOBODY}
            make={asAdmin((admin, { market }) => {
                if (market.config.guardian === NOBODY) throw new Error(words.guardian.thereIsNoGuardianAnyMore);
                return getUpdateConfigInstructionAsync({ admin, gatewayAuthority: null, guardian: NOBODY });
            })}
            done={words.guardian.theGuardianIsRemoved}
        />
    </>
);
