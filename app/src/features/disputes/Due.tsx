// Until when the resolver means to decide, counted down; or how late the decision is.

import { spanText } from '../../shared/time/spans';
import { Badge } from '../../shared/ui/Badge';
import { Countdown } from '../../shared/ui/Countdown';
import type { Dispute } from './query';
import { secondsOf } from './state';
import { words } from './words';

const t = words.due;

export function Due({ dispute: { respond_by, expires_at } }: { dispute: Pick<Dispute, 'respond_by' | 'expires_at'> }) {
    const now = Date.now() / 1_000;
    const late = now - secondsOf(respond_by);
    if (now > secondsOf(expires_at)) return <Badge kind="bad">{t.over}</Badge>;
    if (late > 0) return <Badge kind="warn">{t.late(spanText(late))}</Badge>;
    return <Countdown to={respond_by} over={t.now} />;
}
