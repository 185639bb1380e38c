// "How to call it": the samples as tabs, ready to paste.

import { useQuery } from '@tanstack/react-query';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components/Tabs';

import { networkQuery } from '../../shared/api/queries';
import { Copy } from '../../shared/ui/Copy';
import { exampleOf } from './example';
import styles from './CodeSamples.module.css';
import type { Agent } from './query';
import { SAMPLES } from './samples';

const TASK = 'Describe here what the agent is to do.';

export function CodeSamples({ agent }: { agent: Agent }) {
    const { data: network } = useQuery(networkQuery);
    const url = network?.base_url ?? location.origin;
    const call = { url, agentId: agent.agent_id, task: TASK, parameters: exampleOf(agent.input_schema) };
    return (
        <section aria-labelledby="call" className="stack">
            <h2 id="call">Call it from your code</h2>
            <p className="muted">
                You pay only for a result that the creator has signed. Put an API key into <code>CRTX_API_KEY</code>.
            </p>
            <Tabs className={styles.tabs ?? ''}>
                <TabList aria-label="Language" className={styles.list ?? ''}>
                    {SAMPLES.map(({ name }) => (
                        <Tab key={name} id={name} className={styles.tab ?? ''}>
                            {name}
                        </Tab>
                    ))}
                </TabList>
                {SAMPLES.map(({ name, code }) => (
                    <TabPanel key={name} id={name} className={styles.panel ?? ''}>
                        <div className={styles.copy}>
                            <Copy text={code(call)} what={`the ${name} sample`} />
                        </div>
                        <pre tabIndex={0} role="region" aria-label={`${name} sample`}>
                            {code(call)}
                        </pre>
                    </TabPanel>
                ))}
            </Tabs>
        </section>
    );
}
