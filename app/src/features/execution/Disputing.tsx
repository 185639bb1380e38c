// The ways from an execution to its dispute: raise one while that is possible, or look at the one that there is.

import { Link } from '@tanstack/react-router';

import { buttonClass } from '../../shared/ui/Button';
import { Countdown } from '../../shared/ui/Countdown';
import { useIsPast } from './own/useIsPast';
import type { Execution } from './query';
import { recordAddressOf } from './recordLink';
import { words } from './words';

/** `until`: seconds since 1970, as the chain has it; `null`: it is not possible. */
export function RaiseDispute({ execution, until }: { execution: Execution; until: number | null }) {
    const isOver = useIsPast(until);
    if (until === null || isOver) return null;
    return (
        <p className="row">
            <Link to="/disputes/new" search={{ execution: execution.execution_id }} className={buttonClass('plain')}>
                {words.dispute.raise}
            </Link>
            <span className="small">
                {words.dispute.hint}
                <Countdown to={until} over={words.now} />.
            </span>
        </p>
    );
}

/** The API takes the address of the record in the place of the dispute's. */
export const DisputeLink = ({ execution }: { execution: Execution }) => (
    <p>
        <Link
            to="/disputes/$disputeId"
            params={{ disputeId: recordAddressOf(execution) }}
            className={buttonClass('plain')}
        >
            {words.dispute.show}
        </Link>
    </p>
);
