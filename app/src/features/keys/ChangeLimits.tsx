// Other limits for a key: higher or lower caps, a later or earlier end, other agents. The key stays the same.

import { type Address, createSolanaRpc } from '@solana/kit';
import { type SubmitEvent, useState } from 'react';

import { allowedAgents } from '../../chain/grants';
import { Button } from '../../shared/ui/Button';
import { Notice } from '../../shared/ui/Notice';
import { useTransaction } from '../../shared/wallet/useTransaction';
import { TransactionState } from '../wallet';
import { Effects } from './Effects';
import { grantOf, isLive, readFunds } from './funds';
import { grantInstructions } from './grant';
import type { PanelProps } from './panel';
import styles from './Keys.module.css';
import { EMPTY, type Limits, draftOf, isLimits, readLimits } from './limits';
import { LimitsFields } from './LimitsFields';
import { words } from './words';

const t = words.change;

export function ChangeLimits({ apiKey, account, network, chain, onClose }: PanelProps) {
    const sessionKey = apiKey.session_public_key as Address;
    const [funds, costs] = chain;
    const grant = grantOf(funds, sessionKey);
    const [draft, setDraft] = useState(() =>
        grant === undefined ? EMPTY : startOf(draftOf(grant, allowedAgents(grant)), isLive(grant, funds.now)),
    );
    const { status, isBusy, send } = useTransaction();
    if (grant === undefined) return <p className={styles.panel}>{t.noGrant}</p>;
    const limits = readLimits(draft, Date.now() / 1_000, grant.expiresAtUnixS);
    const before: Limits = {
        perCallCap: grant.perCallCap,
        totalCap: grant.totalCap,
        dailyCap: grant.dailyCap,
        expiry: { at: grant.expiresAtUnixS },
        agents: allowedAgents(grant),
    };
    const isChanged = isLimits(limits) && textOf(limits) !== textOf(before);
    const submit = async (event: SubmitEvent): Promise<void> => {
        event.preventDefault();
        if (!isLimits(limits) || !isChanged || isBusy) return;
        const mint = network.usdc_mint as Address;
        await send({
            build: async () => {
                const now = await readFunds(createSolanaRpc(network.rpc_url ?? ''), account, mint);
                return grantInstructions(now, account, mint, sessionKey, limits);
            },
        });
        setDraft((current) => ({ ...current, lifetime: 'keep' }));
    };
    return (
        <form className={`${styles.panel} ${styles.fields}`} onSubmit={(event) => void submit(event)} noValidate>
            <LimitsFields
                draft={draft}
                problems={isLimits(limits) ? {} : limits}
                kept={isLive(grant, funds.now) ? t.keepEnd : t.keepPastEnd}
                totalHint={t.totalHint(grant.spent)}
                onChange={(change) => setDraft({ ...draft, ...change })}
            />
            {isLimits(limits) && isChanged && (
                <Notice title={words.preview}>
                    <Effects funds={funds} costs={costs} limits={limits} sessionKey={sessionKey} />
                </Notice>
            )}
            <div className="row">
                <Button type="submit" isDisabled={!isChanged}>
                    {isBusy ? words.busy : t.sign}
                </Button>
                <Button look="quiet" onPress={onClose}>
                    {status.kind === 'done' ? words.close : words.cancel}
                </Button>
            </div>
            <TransactionState status={status} done={t.done} />
        </form>
    );
}

/** An expired key needs a new end before anything else. */
const startOf = (draft: ReturnType<typeof draftOf>, isAlive: boolean): typeof draft =>
    isAlive ? draft : { ...draft, lifetime: EMPTY.lifetime };

/** Comparable. */
const textOf = (limits: Limits): string =>
    [
        limits.perCallCap,
        limits.totalCap,
        limits.dailyCap,
        'at' in limits.expiry ? limits.expiry.at : `+${limits.expiry.after}`,
        ...limits.agents,
    ].join(' ');
