// One creator: name, badge, agents, and the action that gives or takes the badge.

import type { Address as SolanaAddress } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';

import { getVerifyCreatorInstructionAsync } from '../../../generated/instructions/verifyCreator';
import type { Schemas } from '../../../shared/api/client';
import { networkQuery } from '../../../shared/api/queries';
import { formatCount } from '../../../shared/figures';
import { UserText } from '../../../shared/text/UserText';
import { short } from '../../../shared/text/short';
import { visible } from '../../../shared/text/visible';
import { momentText } from '../../../shared/time/moments';
import { Badge } from '../../../shared/ui/Badge';
import { Failure } from '../../../shared/ui/Failure';
import { Figure, Figures } from '../../../shared/ui/Figures';
import { Notice } from '../../../shared/ui/Notice';
import { Skeleton } from '../../../shared/ui/Skeleton';
import { RoleHolder } from '../../market';
import { Action } from '../act/Action';
import { asAdmin } from '../act/requests';
import { type Profile, profileQuery, readProfile, walletQuery } from './query';
import { words } from '../words';

export function Creator({ wallet }: { wallet: string }) {
    const { data: network } = useQuery(networkQuery);
    const { data: profile, error, refetch } = useQuery(profileQuery(network?.rpc_url, wallet));
    const { data: known } = useQuery(walletQuery(wallet));
    if (profile === undefined) {
        return error ? <Failure error={error} onRetry={() => void refetch()} /> : <Skeleton height="14rem" />;
    }
    if (profile === null) {
        return (
            <Notice title={words.creator.missing}>
                <p>{words.creator.missingText}</p>
            </Notice>
        );
    }
    return (
        <Notice>
            <Figures>
                <Figure name={words.creator.name}>
                    {profile.name === '' ? <em>{words.creator.noName}</em> : <UserText text={profile.name} />}
                </Figure>
                <Figure name={words.creator.badge}>
                    <Badge kind={profile.isVerified ? 'good' : 'plain'}>
                        {profile.isVerified ? words.creator.verified : words.creator.noBadge}
                    </Badge>
                    {profile.isVerified && (
                        <span className="small muted"> {words.creator.since(momentText(profile.verifiedAt))}</span>
                    )}
                </Figure>
                <Figure name={words.creator.wallet}>
                    <RoleHolder address={wallet} />
                </Figure>
                <Figure name={words.creator.registered}>{momentText(profile.createdAt)}</Figure>
                <Figure name={words.creator.agents}>
                    {known === undefined ? <Skeleton height="1.25rem" width="3rem" /> : formatCount(known.agents_total)}
                </Figure>
            </Figures>
            {known !== undefined && known.agents.length > 0 && <Agents agents={known.agents} />}
            <Verification wallet={wallet} profile={profile} />
        </Notice>
    );
}

const Agents = ({ agents }: { agents: readonly Schemas['WalletAgent'][] }) => (
    <ul className="row">
        {agents.map(({ agent_id, name }) => (
            <li key={agent_id}>
                <Link to="/agents/$agentId" params={{ agentId: agent_id }}>
                    <UserText text={name ?? short(agent_id)} />
                </Link>
            </li>
        ))}
    </ul>
);

function Verification({ wallet, profile }: { wallet: string; profile: Profile }) {
    const { isVerified, name } = profile;
    const effects = isVerified ? [words.creator.removeEffect] : [words.creator.effect, words.creator.renameWarning];
    return (
        <Action
            label={
                isVerified ? words.creator.remove : words.creator.verify(name === '' ? '' : ` as “${visible(name)}”`)
            }
            isDangerous={isVerified}
            effects={effects}
            obstacle={!isVerified && name === '' ? words.creator.nameless : undefined}
            make={asAdmin(async (admin, { rpc }) => {
                const now = await readProfile(rpc, wallet as SolanaAddress);
                if (now === null) throw new Error(words.creator.noProfile);
                if (now.isVerified !== isVerified)
                    throw new Error(words.creator.already(now.isVerified ? 'verified' : 'not verified'));
                if (now.name !== name) throw new Error(words.creator.renamed(visible(now.name)));
                return getVerifyCreatorInstructionAsync({
                    admin,
                    profile: now.address,
                    verifiedName: isVerified ? null : name,
                });
            })}
            done={isVerified ? words.creator.removed : words.creator.done}
        />
    );
}
