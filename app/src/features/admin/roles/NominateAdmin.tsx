// Names the next admin, who has to accept.

import { type Market, NOBODY } from '../../../chain/market';
import { getNominateAdminInstructionAsync } from '../../../generated/instructions/nominateAdmin';
import { RoleHolder } from '../../market';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { AddressAction } from './AddressAction';

export const NominateAdmin = ({ market: { config } }: { market: Market }) => {
    const isNominated = config.pendingAdmin !== NOBODY;
    return (
        <>
            <h3>Next admin</h3>
            {isNominated && (
                <p className="row">
                    Nominated: <RoleHolder address={config.pendingAdmin} />
                </p>
            )}
            <AddressAction
                field="Wallet of the next admin"
                hint="It must be able to sign."
                label="Nominate the next admin"
                question="Nominate this wallet as the next admin?"
                role="admin"
                config={config}
                effects={[
                    'At once: this wallet may accept, on this page. You stay the admin until it does.',
                    'When it accepts: it has every power on this page, and you have none.',
                    ...(isNominated ? ['The earlier nomination is replaced.'] : []),
                ]}
                make={(admin, nominee) => getNominateAdminInstructionAsync({ admin, nominee })}
                done="The wallet is nominated. It accepts on this page."
            />
            <Action
                label="Withdraw the nomination"
                isDangerous
                effects={['At once: the nominated wallet cannot accept any more.']}
                isGone={!isNominated}
                make={asAdmin((admin, { market }) => {
                    if (market.config.pendingAdmin === NOBODY) throw new Error('Nobody is nominated any more.');
                    return getNominateAdminInstructionAsync({ admin, nominee: NOBODY });
                })}
                done="The nomination is withdrawn."
            />
        </>
    );
};
