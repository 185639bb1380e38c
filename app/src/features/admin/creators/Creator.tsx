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
import { type Profile, profileQuery, readProfile, readWallet, walletQuery } from './query';

export function Creator({ wallet }: { wallet: string }) {
    const { data: network } = useQuery(networkQuery);
    const { data: profile, error, refetch } = useQuery(profileQuery(network?.rpc_url, wallet));
    const { data: known } = useQuery(walletQuery(wallet));
    if (error) return <Failure error={error} onRetry={() => void refetch()} />;
    if (profile === undefined) return <Skeleton height="14rem" />;
    if (profile === null) {
        return (
            <Notice title="No creator">
                <p>This wallet has no creator profile. The first listing or the first name makes one.</p>
            </Notice>
        );
    }
    return (
        <Notice>
            <Figures>
                <Figure name="Name">{profile.name === '' ? <em>none</em> : <UserText text={profile.name} />}</Figure>
                <Figure name="Badge">
                    <Badge kind={profile.isVerified ? 'good' : 'plain'}>
                        {profile.isVerified ? 'Verified' : 'None'}
                    </Badge>
                    {profile.isVerified && <span className="small muted"> since {momentText(profile.verifiedAt)}</span>}
                </Figure>
                <Figure name="Wallet">
                    <RoleHolder address={wallet} />
                </Figure>
                <Figure name="Creator since">{momentText(profile.createdAt)}</Figure>
                <Figure name="Agents">
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
    const effects = isVerified
        ? ['At once: its agents show no badge any more.']
        : [
              'At once: all of its agents show the badge, in lists and on their pages.',
              'The creator loses it by taking another name.',
          ];
    return (
        <Action
            label={
                isVerified ? 'Take the badge away' : `Verify this creator${name === '' ? '' : ` as “${visible(name)}”`}`
            }
            isDangerous={isVerified}
            effects={effects}
            obstacle={
                !isVerified && name === ''
                    ? 'A creator without a name cannot be verified. It has to set a name first.'
                    : undefined
            }
            make={asAdmin(async (admin, { rpc }) => {
                const now = await readProfile(rpc, wallet as SolanaAddress);
                if (now === null) throw new Error('This wallet has no creator profile.');
                if (now.isVerified !== isVerified)
                    throw new Error(`The creator is ${now.isVerified ? 'verified' : 'not verified'} already.`);
                if (now.name !== name)
                    throw new Error(`The creator has just taken another name: ${visible(now.name)}. Check that one.`);
                return getVerifyCreatorInstructionAsync({
                    admin,
                    profile: now.address,
                    verifiedName: isVerified ? null : name,
                });
            })}
            after={() => untilShown(wallet, !isVerified)}
            done={isVerified ? 'The badge is gone.' : 'The creator is verified.'}
        />
    );
}

const SHOWN_AFTER_MS = 500;
const MOST_LOOKS = 20;

/** Waits until the index shows the badge as the chain has it, as long as that is worth waiting for. */
async function untilShown(wallet: string, isVerified: boolean): Promise<void> {
    for (let look = 0; look < MOST_LOOKS; look += 1) {
        const found = await readWallet(wallet).catch(() => null);
        if (found?.creator?.verified === isVerified) return;
        await new Promise((resolve) => setTimeout(resolve, SHOWN_AFTER_MS));
    }
}
