// What someone should know of an agent and its creator before anything else: a name that misleads, and why the agent
// takes no calls.

import { Notice } from '../../shared/ui/Notice';
import type { Agent } from './query';

export const Standing = ({ agent }: { agent: Agent }) => (
    <>
        {agent.creator.resembles_verified && (
            <Notice kind="warn" title="This name looks like that of a verified creator; it is another one">
                <p>The creator of this agent is not verified. Its address says who it is, and its name does not.</p>
            </Notice>
        )}
        <Stopped agent={agent} />
    </>
);

/** A suspended agent has the status of a paused one, but not by its creator. */
function Stopped({ agent: { suspended, status } }: { agent: Agent }) {
    if (suspended) {
        return (
            <Notice kind="warn" title="Suspended by the marketplace">
                <p>
                    The admin or the guardian has stopped its new calls, and only the admin can resume it. Calls under
                    way are finished or refunded.
                </p>
            </Notice>
        );
    }
    if (status !== 'paused') return null;
    return (
        <Notice kind="warn" title="Paused by its creator">
            <p>It takes no calls at present. Calls under way are finished or refunded.</p>
        </Notice>
    );
}
