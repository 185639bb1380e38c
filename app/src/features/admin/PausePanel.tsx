// The emergency stop: one switch for new calls, one for new listings. The guardian stops; only the admin resumes.

import type { Market } from '../../chain/market';
import type { Config } from '../../generated/accounts/config';
import { getSetPausedInstructionAsync } from '../../generated/instructions/setPaused';
import { Badge } from '../../shared/ui/Badge';
import { Panel } from '../../shared/ui/Panel';
import { Action } from './act/Action';
import { asStopper } from './act/requests';
import { words } from './words';

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
        stops: words.pausePanel.callsStop,
        resumes: words.pausePanel.callsResume,
    },
    {
        what: 'new listings',
        isStopped: ({ listingsPaused }) => listingsPaused !== 0,
        change: (listings) => ({ openings: null, listings }),
        stops: words.pausePanel.listingsStop,
        resumes: words.pausePanel.listingsResume,
    },
];

const CONTINUES = words.pausePanel.goesOn;

export type PausePanelProps = { market: Market; /** The guardian only stops. */ mayResume: boolean };

export const PausePanel = ({ market, mayResume }: PausePanelProps) => (
    <Panel title={words.pausePanel.title}>
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
                <Badge kind={isStopped ? 'warn' : 'good'}>
                    {isStopped ? words.pausePanel.stopped : words.pausePanel.allowed}
                </Badge>
                {isStopped && !mayResume && words.pausePanel.adminOnly(what)}
            </p>
            <Action
                label={`${verb} ${what}`}
                question={words.pausePanel.ask(verb, what)}
                isDangerous={!isStopped}
                isGone={isStopped && !mayResume}
                effects={isStopped ? [resumes] : [stops, CONTINUES, words.pausePanel.lasts(what)]}
                make={asStopper(isStopped, (authority, { market: now }) => {
                    if (subject.isStopped(now.config) !== isStopped)
                        throw new Error(words.pausePanel.already(sentence(what), isStopped ? 'allowed' : 'stopped'));
                    return getSetPausedInstructionAsync({ authority, ...change(!isStopped) });
                })}
                done={words.pausePanel.done(sentence(what), isStopped ? 'allowed' : 'stopped')}
            />
        </>
    );
}

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
