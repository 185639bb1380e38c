// When an announcement takes effect: the countdown, the exact time, and what happens then.

import { momentText } from '../../shared/time/moments';
import { Countdown } from '../../shared/ui/Countdown';
import { ANNOUNCEMENT_LIFE_S, announcementState } from './announcement';

export type WhenProps = { applyFrom: number; clock: { readonly now: number; readonly ahead: number } };

export function When({ applyFrom, clock: { now, ahead } }: WhenProps) {
    const lapsesAt = momentText(applyFrom + ANNOUNCEMENT_LIFE_S);
    switch (announcementState(applyFrom, now)) {
        case 'waiting':
            return (
                <p>
                    Takes effect <Countdown to={applyFrom - ahead} over="now" />, on{' '}
                    <span className="number">{momentText(applyFrom)}</span>. The service applies it then; anybody may,
                    until {lapsesAt}.
                </p>
            );
        case 'due':
            return (
                <p>
                    Due since {momentText(applyFrom)}. The service applies it within a minute; anybody may, until{' '}
                    {lapsesAt}.
                </p>
            );
        case 'lapsed':
            return <p>Lapsed at {lapsesAt}, so it has no effect any more. It can only be announced again.</p>;
        case 'none':
            return null;
    }
}
