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
            <h3>{words.nominateAdmin.nextAdmin}</h3>
            {isNominated && (
                <p className="row">
                    {words.nominateAdmin.nominated} <RoleHolder address={config.pendingAdmin} />
                </p>
            )}
            <AddressAction
                field="Wallet of the next admin"
                hint={words.nominateAdmin.itMustBeAbleToSign}
                label={words.nominateAdmin.nominateTheNextAdmin}
                question={words.nominateAdmin.nominateThisWalletAsTheNext}
                role="admin"
                config={config}
                effects={[
                    words.nominateAdmin.atOnceThisWalletMayAccept,
                    words.nominateAdmin.whenItAcceptsItHasEvery,
                    ...(isNominated ? [words.nominateAdmin.theEarlierNominationIsReplaced] : []),
                ]}
                make={(admin, nominee) => getNominateAdminInstructionAsync({ admin, nominee })}
                done={words.nominateAdmin.theWalletIsNominatedItAccepts}
            />
            <Action
                label={words.nominateAdmin.withdrawTheNomination}
                isDangerous
                effects={[words.nominateAdmin.atOnceTheNominatedWalletCannot]}
                isGone={!isNominated}
                make={asAdmin((admin, { market }) => {
                    if (market.config.pendingAdmin === NOBODY)
                        throw new Error(words.nominateAdmin.nobodyIsNominatedAnyMore);
                    return getNominateAdminInstructionAsync({ admin, nominee: NOBODY });
                })}
                done={words.nominateAdmin.theNominationIsWithdrawn}
            />
        </>
    );
};
