// When an announcement takes effect: the countdown, the exact time, and what happens then.

import { momentText } from '../../shared/time/moments';
import { Countdown } from '../../shared/ui/Countdown';
import { ANNOUNCEMENT_LIFE_S, announcementState } from './announcement';
import { words } from './words';

const w = words.when;

export type WhenProps = { applyFrom: number; clock: { readonly now: number; readonly ahead: number } };

export function When({ applyFrom, clock: { now, ahead } }: WhenProps) {
    const lapsesAt = momentText(applyFrom + ANNOUNCEMENT_LIFE_S);
    switch (announcementState(applyFrom, now)) {
        case 'waiting':
            return (
                <p>
                    {w.takesEffect}
                    <Countdown to={applyFrom - ahead} over={words.now} />
                    {w.on}
                    <span className="number">{momentText(applyFrom)}</span>
                    {w.waiting(lapsesAt)}
                </p>
            );
        case 'due':
            return <p>{w.due(momentText(applyFrom), lapsesAt)}</p>;
        case 'lapsed':
            return <p>{w.lapsed(lapsesAt)}</p>;
        case 'none':
            return null;
    }
}
