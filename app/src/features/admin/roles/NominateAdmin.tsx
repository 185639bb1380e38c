// Names the next admin, who has to accept.

import { type Market, NOBODY } from '../../../chain/market';
import { getNominateAdminInstructionAsync } from '../../../generated/instructions/nominateAdmin';
import { RoleHolder } from '../../market';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { AddressAction } from './AddressAction';
import { words } from '../words';

export const NominateAdmin = ({ market: { config } }: { market: Market }) => {
    const isNominated = config.pendingAdmin !== NOBODY;
    return (
        <>
            <h3>{words.nominateAdmin.field}</h3>
            {isNominated && (
                <p className="row">
                    {words.nominateAdmin.nominated} <RoleHolder address={config.pendingAdmin} />
                </p>
            )}
            <AddressAction
                field="Wallet of the next admin"
                hint={words.nominateAdmin.hint}
                label={words.nominateAdmin.nominate}
                question={words.nominateAdmin.ask}
                role="admin"
                config={config}
                effects={[
                    words.nominateAdmin.effect,
                    words.nominateAdmin.later,
                    ...(isNominated ? [words.nominateAdmin.replaces] : []),
                ]}
                make={(admin, nominee) => getNominateAdminInstructionAsync({ admin, nominee })}
                done={words.nominateAdmin.done}
            />
            <Action
                label={words.nominateAdmin.withdraw}
                isDangerous
                effects={[words.nominateAdmin.withdrawEffect]}
                isGone={!isNominated}
                make={asAdmin((admin, { market }) => {
                    if (market.config.pendingAdmin === NOBODY) throw new Error(words.nominateAdmin.none);
                    return getNominateAdminInstructionAsync({ admin, nominee: NOBODY });
                })}
                done={words.nominateAdmin.withdrawn}
            />
        </>
    );
};
