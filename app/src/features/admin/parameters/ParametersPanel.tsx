// Fee, prices, times and collateral: announced together, and in force a week later at the earliest.

import { useState } from 'react';

import type { Market } from '../../../chain/market';
import { getAnnounceParametersInstructionAsync } from '../../../generated/instructions/announceParameters';
import { getApplyParametersInstructionAsync } from '../../../generated/instructions/applyParameters';
import type { Config } from '../../../generated/accounts/config';
import { momentText } from '../../../shared/time/moments';
import { Notice } from '../../../shared/ui/Notice';
import { Panel } from '../../../shared/ui/Panel';
import {
    AnnouncedParameters,
    Differences,
    type MarketParameters,
    PARAMETERS_DELAY_S,
    factsOfChain,
    sameParameters,
} from '../../market';
import { Action } from '../act/Action';
import { AnnouncementActions } from '../act/AnnouncementActions';
import { asAdmin } from '../act/requests';
import { type Draft, draftOf, readDraft } from './draft';
import { ParameterFields } from './ParameterFields';
import { words } from '../words';

/** What a new announcement starts from: the announced parameters if there are some, so that two changes add up. */
const basisOf = (config: Config): MarketParameters =>
    config.parametersApplyFromUnixS === 0n ? config.parameters : config.announcedParameters;

export function ParametersPanel({ market }: { market: Market }) {
    const { config } = market;
    const facts = factsOfChain(market);
    return (
        <Panel title={words.parametersPanel.title}>
            <AnnouncedParameters facts={facts} />
            <AnnouncementActions
                what="parameters"
                applyFrom={facts.announcedParameters?.applyFrom ?? 0}
                now={market.now}
                applyFromNow={({ config: now }) => Number(now.parametersApplyFromUnixS)}
                apply={() => getApplyParametersInstructionAsync({})}
                withdraw={(admin) => getAnnounceParametersInstructionAsync({ admin, parameters: null })}
            />
            <Announce market={market} basis={basisOf(config)} />
        </Panel>
    );
}

function Announce({ market, basis }: { market: Market; basis: MarketParameters }) {
    // Only the fields that were written: the others follow the chain.
    const [written, setWritten] = useState<Draft>({});
    const draft: Draft = { ...draftOf(basis), ...written };
    const { parameters, problems } = readDraft(draft);
    const isChanged = parameters !== null && !sameParameters(parameters, basis);
    const { config } = market;
    const isAnnounced = config.parametersApplyFromUnixS !== 0n;
    return (
        <>
            <ParameterFields
                draft={draft}
                problems={problems ?? {}}
                onChange={(change) => setWritten((before) => ({ ...before, ...change }))}
            />
            {parameters !== null && isChanged && !sameParameters(parameters, config.parameters) && (
                <Notice title={words.parametersPanel.preview}>
                    <Differences
                        caption={words.parametersPanel.differences}
                        before={config.parameters}
                        after={parameters}
                    />
                </Notice>
            )}
            <Action
                label={words.parametersPanel.announce}
                question={words.parametersPanel.ask}
                effects={[
                    words.parametersPanel.atOnce,
                    words.parametersPanel.later(momentText(market.now + PARAMETERS_DELAY_S)),
                    ...(isAnnounced ? [words.parametersPanel.replaces] : []),
                ]}
                obstacle={
                    problems !== null
                        ? words.parametersPanel.incorrect
                        : isChanged
                          ? undefined
                          : words.parametersPanel.unchanged
                }
                make={asAdmin((admin, { market: now }) => {
                    if (!sameParameters(basisOf(now.config), basis)) throw new Error(words.parametersPanel.changed);
                    if (parameters === null || sameParameters(parameters, basis))
                        throw new Error(words.parametersPanel.same);
                    return getAnnounceParametersInstructionAsync({ admin, parameters });
                })}
                after={() => setWritten({})}
                done={words.parametersPanel.done}
            />
        </>
    );
}
