// The emergency stop: one switch for new calls, one for new listings. The guardian stops; only the admin resumes.

import type { Market } from '../../chain/market';
import type { Config } from '../../generated/accounts/config';
import { getSetPausedInstructionAsync } from '../../generated/instructions/setPaused';
import { Badge } from '../../shared/ui/Badge';
import { Panel } from '../../shared/ui/Panel';
import { Action } from './act/Action';
import { asStopper } from './act/requests';

type Subject = {
    /** On the buttons: `Stop new calls`. */
    readonly what: string;
    readonly isStopped: (config: Config) => boolean;
    readonly change: (stopped: boolean) => { readonly openings: boolean | null; readonly listings: boolean | null };
    readonly stops: string;
    readonly resumes: string;
};

const SUBJECTS: readonly Subject[] = [
    {
        what: 'new calls',
        isStopped: ({ openingsPaused }) => openingsPaused !== 0,
        change: (openings) => ({ openings, listings: null }),
        stops: 'At once: nobody can call an agent, with a wallet or with an API key.',
        resumes: 'At once: everybody can call agents again.',
    },
    {
        what: 'new listings',
        isStopped: ({ listingsPaused }) => listingsPaused !== 0,
        change: (listings) => ({ openings: null, listings }),
        stops: 'At once: nobody can list an agent.',
        resumes: 'At once: everybody can list agents again.',
    },
];

const CONTINUES = 'Settlement, refund, dispute and withdrawal go on as before. Money in escrow is not touched.';

export type PausePanelProps = { market: Market; /** The guardian only stops. */ mayResume: boolean };

export const PausePanel = ({ market, mayResume }: PausePanelProps) => (
    <Panel title="Emergency stop">
        {SUBJECTS.map((subject) => (
            <Switch key={subject.what} subject={subject} market={market} mayResume={mayResume} />
        ))}
    </Panel>
);

function Switch({ subject, market: { config }, mayResume }: PausePanelProps & { subject: Subject }) {
    const { what, change, stops, resumes } = subject;
    const isStopped = subject.isStopped(config);
    const verb = isStopped ? 'Resume' : 'Stop';
    return (
        <>
            <h3>{sentence(what)}</h3>
            <p className="row">
                <Badge kind={isStopped ? 'warn' : 'good'}>{isStopped ? 'Stopped' : 'Allowed'}</Badge>
                {isStopped && !mayResume && `Only the admin can resume ${what}.`}
            </p>
            <Action
                label={`${verb} ${what}`}
                question={`${verb} ${what} for everybody?`}
                isDangerous={!isStopped}
                isGone={isStopped && !mayResume}
                effects={isStopped ? [resumes] : [stops, CONTINUES, `It lasts until the admin resumes ${what}.`]}
                make={asStopper(isStopped, (authority, { market: now }) => {
                    if (subject.isStopped(now.config) !== isStopped)
                        throw new Error(`${sentence(what)} are ${isStopped ? 'allowed' : 'stopped'} already.`);
                    return getSetPausedInstructionAsync({ authority, ...change(!isStopped) });
                })}
                done={`${sentence(what)} are ${isStopped ? 'allowed' : 'stopped'}. The service shows it within half a minute.`}
            />
        </>
    );
}

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
