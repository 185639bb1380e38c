// Who follows as resolver, treasury owner or insurance owner, sixteen days later.

import { useState } from 'react';

import type { Market } from '../../../chain/market';
import { getAnnounceRolesInstructionAsync } from '../../../generated/instructions/announceRoles';
import { getApplyRolesInstructionAsync } from '../../../generated/instructions/applyRoles';
import { momentText } from '../../../shared/time/moments';
import { TextField } from '../../../shared/ui/Field';
import { short } from '../../../shared/text/short';
import { ANNOUNCED_ROLES, AnnouncedRoles, ROLES_DELAY_S, factsOfChain, roleName } from '../../market';
import { Action } from '../act/Action';
import { AnnouncementActions } from '../act/AnnouncementActions';
import { asAdmin } from '../act/requests';
import styles from '../Admin.module.css';
import { NO_SUCCESSORS, readSuccessors } from './successors';
import { words } from '../words';

const NOBODY_NAMED = { resolver: null, treasuryOwner: null, insuranceOwner: null };

export function Succession({ market }: { market: Market }) {
    const facts = factsOfChain(market);
    return (
        <>
            <h3>{words.succession.title}</h3>
            <AnnouncedRoles facts={facts} />
            <AnnouncementActions
                what="roles"
                applyFrom={facts.announcedRoles?.applyFrom ?? 0}
                now={market.now}
                applyFromNow={({ config }) => Number(config.rolesApplyFromUnixS)}
                apply={() => getApplyRolesInstructionAsync({})}
                withdraw={(admin) => getAnnounceRolesInstructionAsync({ admin, ...NOBODY_NAMED })}
            />
            <Announce market={market} />
        </>
    );
}

function Announce({ market: { config, now } }: { market: Market }) {
    const [successors, setSuccessors] = useState(NO_SUCCESSORS);
    const { named, problems, isEmpty, isValid } = readSuccessors(successors, config);
    const from = momentText(now + ROLES_DELAY_S);
    const isAnnounced = config.rolesApplyFromUnixS !== 0n;
    return (
        <>
            <div className={styles.addresses}>
                {ANNOUNCED_ROLES.map((role) => (
                    <TextField
                        key={role}
                        label={words.succession.next(roleName(role).toLowerCase())}
                        hint={words.succession.empty}
                        value={successors[role]}
                        error={problems[role]}
                        autoComplete="off"
                        spellCheck={false}
                        onChange={({ target }) => setSuccessors({ ...successors, [role]: target.value })}
                    />
                ))}
            </div>
            <Action
                label={words.succession.announce}
                question={words.succession.ask}
                effects={[
                    words.succession.atOnce,
                    ...ANNOUNCED_ROLES.filter((role) => named[role] !== null).map((role) => (
                        <>
                            {words.succession.later(from)} <span className="mono">{short(named[role] ?? '', 6)}</span>{' '}
                            {words.succession.becomes(roleName(role).toLowerCase())}
                        </>
                    )),
                    words.succession.why,
                    ...(isAnnounced ? [words.succession.replaces] : []),
                ]}
                obstacle={isEmpty ? words.succession.noSuccessor : isValid ? undefined : words.succession.incorrect}
                make={asAdmin((admin, chain) => {
                    const read = readSuccessors(successors, chain.market.config);
                    if (!read.isValid) throw new Error(words.succession.changed);
                    return getAnnounceRolesInstructionAsync({ admin, ...read.named });
                })}
                after={() => setSuccessors(NO_SUCCESSORS)}
                done={words.succession.done}
            />
        </>
    );
}
