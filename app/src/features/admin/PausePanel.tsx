// The emergency stop for new listings and new calls.

import { getSetPausedInstructionAsync } from '../../generated/instructions/setPaused';
import type { Market } from '../../chain/market';
import { Badge } from '../../shared/ui/Badge';
import { Action } from './act/Action';
import { asAdmin } from './act/requests';
import { Panel } from './Panel';

const CONTINUES = 'Settlement, refund, dispute and withdrawal go on as before. Money in escrow is not touched.';

export function PausePanel({ market: { config } }: { market: Market }) {
    const isPaused = config.paused === 1;
    const wanted = !isPaused;
    return (
        <Panel title="Pause">
            <p>
                The market is <Badge kind={isPaused ? 'warn' : 'good'}>{isPaused ? 'paused' : 'open'}</Badge>
            </p>
            <Action
                label={isPaused ? 'Open the market' : 'Pause the market'}
                question={isPaused ? 'Open the market for everybody?' : 'Pause the market for everybody?'}
                isDangerous={!isPaused}
                effects={
                    isPaused
                        ? ['At once: everybody can list agents and call them again.']
                        : [
                              'At once: nobody can list an agent or call one, with a wallet or with an API key.',
                              CONTINUES,
                              'It lasts until you open the market again.',
                          ]
                }
                make={asAdmin((admin, { market: now }) => {
                    if ((now.config.paused === 1) === wanted)
                        throw new Error(`The market is ${wanted ? 'paused' : 'open'} already.`);
                    return getSetPausedInstructionAsync({ admin, paused: wanted });
                })}
                done={`The market is ${wanted ? 'paused' : 'open'}. The service shows it within half a minute.`}
            />
        </Panel>
    );
}
