// What someone should know of an agent and its creator before anything else: a name that misleads, and why the agent
// takes no calls.

import { Notice } from '../../shared/ui/Notice';
import type { Agent } from './query';
import { words } from './words';

export const Standing = ({ agent }: { agent: Agent }) => (
    <>
        {agent.creator.resembles_verified && (
            <Notice kind="warn" title={words.resembles}>
                <p>{words.resemblesText}</p>
            </Notice>
        )}
        <Stopped agent={agent} />
    </>
);

/** A suspended agent has the status of a paused one, but not by its creator. */
function Stopped({ agent: { suspended, status } }: { agent: Agent }) {
    if (suspended) {
        return (
            <Notice kind="warn" title={words.suspended}>
                <p>{words.suspendedText}</p>
            </Notice>
        );
    }
    if (status !== 'paused') return null;
    return (
        <Notice kind="warn" title={words.paused}>
            <p>{words.pausedText}</p>
        </Notice>
    );
}
