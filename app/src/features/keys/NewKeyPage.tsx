// `/keys/new`: a key is made in this browser. First its limits, then the key itself, which its owner saves, and only
// then the signature: whatever breaks afterwards, the owner has the key.

import type { Address } from '@solana/kit';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type SubmitEvent, useRef, useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { nameProblem } from '../../shared/text/plain';
import { Button, buttonClass } from '../../shared/ui/Button';
import { Failure, messageOf } from '../../shared/ui/Failure';
import { TextField } from '../../shared/ui/Field';
import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { SessionGate } from '../wallet';
import { Effects } from './Effects';
import { type Costs, type Funds, costOfGrant, fundsQuery } from './funds';
import { HandOver, type MadeKey } from './HandOver';
import styles from './Keys.module.css';
import { EMPTY, type LimitsProblems, isLimits, readLimits } from './limits';
import { LimitsFields } from './LimitsFields';
import { NoNode } from './NoNode';
import { MAX_NAME_CHARS, keysQuery } from './query';
import { makeKeyText, registrationOf } from './secret';
import { words } from './words';

const t = words.form;

export const NewKeyPage = () => (
    <Page title={words.newTitle}>
        <p className="muted">
            {words.newIntro} <Link to="/keys">{words.allKeys}</Link>
        </p>
        <SessionGate why={words.whySignInNew}>{(account) => <NewKey key={account} account={account} />}</SessionGate>
    </Page>
);

function NewKey({ account }: { account: Address }) {
    const { data: network } = useQuery(networkQuery);
    const { data: chain, error, refetch } = useQuery(fundsQuery(account, network));
    const [made, setMade] = useState<MadeKey | null>(null);
    if (network?.rpc_url === null) return <NoNode />;
    if (made !== null && network !== undefined)
        return <HandOver made={made} account={account} network={network} onBack={() => setMade(null)} />;
    return (
        <>
            {error && <Failure error={error} onRetry={() => void refetch()} />}
            <KeyForm account={account} chain={chain} onMade={setMade} />
        </>
    );
}

type FormProps = { account: Address; chain: [Funds, Costs] | undefined; onMade: (made: MadeKey) => void };

function KeyForm({ account, chain, onMade }: FormProps) {
    const { data: network } = useQuery(networkQuery);
    const { data: known } = useInfiniteQuery(keysQuery(account));
    const [name, setName] = useState('');
    const [draft, setDraft] = useState(EMPTY);
    const [isChecked, setChecked] = useState(false);
    const [failure, setFailure] = useState<string | null>(null);
    const form = useRef<HTMLFormElement>(null);
    const limits = readLimits(draft, Date.now() / 1_000);
    const isTaken = known?.pages.some(({ keys }) => keys.some((key) => key.name === name && key.state !== 'revoked'));
    const wrongName = nameProblem(name, MAX_NAME_CHARS) ?? (isTaken === true ? t.nameTaken : undefined);
    const problems: LimitsProblems = isChecked && !isLimits(limits) ? limits : {};
    const missing =
        chain && costOfGrant(chain[1], chain[0]) > chain[1].lamports ? costOfGrant(chain[1], chain[0]) : null;
    const isWhole = wrongName === undefined && isLimits(limits);

    const submit = async (event: SubmitEvent): Promise<void> => {
        event.preventDefault();
        setChecked(true);
        setFailure(null);
        if (!isWhole)
            return void setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
        if (network === undefined || chain === undefined || missing !== null) return;
        try {
            const text = makeKeyText(network.key_prefix);
            onMade({ name, text, limits, registration: await registrationOf(text, network.key_prefix, account) });
        } catch (error) {
            setFailure(t.cannotMake(messageOf(error)));
        }
    };
    return (
        <form ref={form} className={styles.fields} onSubmit={(event) => void submit(event)} noValidate>
            <TextField
                label={words.name}
                hint={t.nameHint}
                autoComplete="off"
                maxLength={2 * MAX_NAME_CHARS}
                value={name}
                error={isChecked ? wrongName : undefined}
                onChange={(event) => setName(event.target.value)}
            />
            <LimitsFields
                draft={draft}
                problems={problems}
                totalHint={t.totalHint}
                onChange={(change) => setDraft({ ...draft, ...change })}
            />
            {chain && isWhole && (
                <Notice title={words.preview}>
                    <Effects funds={chain[0]} costs={chain[1]} limits={limits} sessionKey="" />
                </Notice>
            )}
            {missing !== null && (
                <Notice kind="warn" title={t.littleSol}>
                    <p>{t.littleSolHint(missing + 100_000n)}</p>
                </Notice>
            )}
            {failure !== null && <Failure error={new Error(failure)} />}
            <div className="row">
                <Button look="primary" type="submit" isDisabled={chain === undefined || missing !== null}>
                    {chain === undefined ? words.reading : t.make}
                </Button>
                <Link to="/keys" className={buttonClass('quiet')}>
                    {words.cancel}
                </Link>
            </div>
            <p className="small muted">{t.next}</p>
        </form>
    );
}
