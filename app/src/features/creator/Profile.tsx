// The creator's profile: the display name with its badge, and the form that changes the name.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

import { plural } from '../../shared/figures';
import { formatSol } from '../../shared/money';
import { UserText } from '../../shared/text/UserText';
import { Badge } from '../../shared/ui/Badge';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import { Skeleton } from '../../shared/ui/Skeleton';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { TransactionState } from '../wallet';
import styles from './Creator.module.css';
import { displayNameProblem } from './displayName';
import { Effects } from './Effects';
import { rename } from './instructions';
import { type Profile, profileQuery, readProfile } from './query';

export type ProfileProps = { wallet: Address; rpcUrl: string | null };

export function ProfileSection({ wallet, rpcUrl }: ProfileProps) {
    const { data, error, refetch } = useQuery(profileQuery(wallet, rpcUrl));
    return (
        <section aria-labelledby="profile" className="stack">
            <h2 id="profile">Creator profile</h2>
            {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
            {data === undefined || rpcUrl === null ? (
                error === null && <Skeleton height="14rem" />
            ) : (
                <>
                    <Shown profile={data.profile} />
                    <NameForm wallet={wallet} rpcUrl={rpcUrl} profile={data.profile} rent={data.rent} />
                </>
            )}
        </section>
    );
}

const Shown = ({ profile }: { profile: Profile | null }) => (
    <>
        <p className="row">
            {profile === null || profile.name === '' ? (
                'Callers see your address: you have no display name.'
            ) : (
                <UserText text={profile.name} />
            )}
            {profile?.name &&
                (profile.isVerified ? <Badge kind="good">Verified creator</Badge> : <Badge>Not verified</Badge>)}
        </p>
        {profile && profile.closedAgents > 0 && (
            <p className="muted small">
                The totals of {plural(profile.closedAgents, 'closed agent')} are kept in your profile.
            </p>
        )}
        {profile && !profile.isVerified && (
            <p className="muted small">
                The badge is given by the admin of the marketplace to the name that it has checked.
            </p>
        )}
    </>
);

type FormProps = { wallet: Address; rpcUrl: string; profile: Profile | null; rent: bigint };

function NameForm({ wallet, rpcUrl, profile, rent }: FormProps) {
    const [name, setName] = useState<string | null>(null);
    const [problem, setProblem] = useState<string | undefined>();
    const transaction = useTransaction();
    const present = profile?.name ?? '';
    const typed = name ?? present;
    const submit = (event: SubmitEvent): void => {
        event.preventDefault();
        const found =
            displayNameProblem(typed) ?? (typed === present ? 'This is your display name already.' : undefined);
        setProblem(found);
        if (found !== undefined) return;
        void transaction.send({
            build: async (account) => {
                if (account !== wallet) throw new Error('Another account is connected now. Nothing was sent.');
                const { profile: now } = await readProfile(wallet, rpcUrl);
                if (now?.name === typed) throw new Error('This is your display name already.');
                return rename(wallet, typed);
            },
        });
    };
    const effects = [
        'Callers see the new name at all of your agents, as soon as the transaction is confirmed.',
        ...(profile?.isVerified ? ['Your badge is for the present name: with another name you lose it.'] : []),
        ...(profile === null
            ? [`Your profile is created. Its rent of ${formatSol(rent)} SOL does not come back.`]
            : []),
    ];
    return (
        <form onSubmit={submit} className={styles.form} noValidate>
            <TextField
                label="Display name"
                value={typed}
                onChange={(event) => {
                    setName(event.target.value);
                    setProblem(undefined);
                }}
                hint="1 to 32 bytes: letters of any script, digits, signs, and spaces in between."
                error={problem}
                autoComplete="off"
            />
            <Effects effects={effects} />
            <Button type="submit" isPending={transaction.isBusy}>
                Change the name
            </Button>
            <TransactionState status={transaction.status} done="Your display name is changed." />
        </form>
    );
}
