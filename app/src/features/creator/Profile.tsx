// The creator's profile: the display name with its badge, and the form that changes the name.

import type { Address } from '@solana/kit';
import { useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';

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
import { words } from './words';

const w = words.profile;

export type ProfileProps = { wallet: Address; rpcUrl: string | null };

export function ProfileSection({ wallet, rpcUrl }: ProfileProps) {
    const { data, error, refetch } = useQuery(profileQuery(wallet, rpcUrl));
    return (
        <section aria-labelledby="profile" className="stack">
            <h2 id="profile">{w.title}</h2>
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
            {profile === null || profile.name === '' ? w.noName : <UserText text={profile.name} />}
            {profile?.name &&
                (profile.isVerified ? <Badge kind="good">{w.verified}</Badge> : <Badge>{w.notVerified}</Badge>)}
        </p>
        {profile && profile.closedAgents > 0 && <p className="muted small">{w.closed(profile.closedAgents)}</p>}
        {profile && !profile.isVerified && <p className="muted small">{w.badge}</p>}
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
        const found = displayNameProblem(typed) ?? (typed === present ? w.same : undefined);
        setProblem(found);
        if (found !== undefined) return;
        void transaction.send({
            build: async (account) => {
                if (account !== wallet) throw new Error(w.otherAccount);
                const { profile: now } = await readProfile(wallet, rpcUrl);
                if (now?.name === typed) throw new Error(w.same);
                return rename(wallet, typed);
            },
        });
    };
    const effects = [
        w.effect,
        ...(profile?.isVerified ? [w.losesBadge] : []),
        ...(profile === null ? [w.created(formatSol(rent))] : []),
    ];
    return (
        <form onSubmit={submit} className={styles.form} noValidate>
            <TextField
                label={w.field}
                value={typed}
                onChange={(event) => {
                    setName(event.target.value);
                    setProblem(undefined);
                }}
                hint={w.hint}
                error={problem}
                autoComplete="off"
            />
            <Effects effects={effects} />
            <Button type="submit" isPending={transaction.isBusy}>
                {w.change}
            </Button>
            <TransactionState status={transaction.status} done={w.done} />
        </form>
    );
}
