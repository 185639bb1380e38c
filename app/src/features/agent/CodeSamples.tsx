// "Call it from code": the call of the form in each language, ready to paste.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components/Tabs';

import { networkQuery } from '../../shared/api/queries';
import { Copy } from '../../shared/ui/Copy';
import styles from './CodeSamples.module.css';
import { type Call, SAMPLES, type Sample } from './samples';
import { words } from './words';

/** Characters that are shown. */
const SHOWN = 20_000;

export function CodeSamples(request: Omit<Call, 'url'>) {
    const { data: network } = useQuery(networkQuery);
    const call = { url: network?.base_url ?? location.origin, ...request };
    return (
        <section aria-labelledby="call" className="stack">
            <h2 id="call">{words.callFromCode}</h2>
            <Tabs className={styles.tabs ?? ''}>
                <TabList aria-label={words.language} className={styles.list ?? ''}>
                    {SAMPLES.map(({ name }) => (
                        <Tab key={name} id={name} className={styles.tab ?? ''}>
                            {name}
                        </Tab>
                    ))}
                </TabList>
                {SAMPLES.map((sample) => (
                    <TabPanel key={sample.name} id={sample.name} className={styles.panel ?? ''}>
                        <Code sample={sample} call={call} />
                    </TabPanel>
                ))}
            </Tabs>
            <p className="small muted">
                {words.keyInVariable} <code>CRTX_API_KEY</code>. <Link to="/keys/new">{words.makeKey}</Link>
            </p>
        </section>
    );
}

function Code({ sample: { name, code }, call }: { sample: Sample; call: Call }) {
    const text = code(call);
    return (
        <>
            <div className={styles.copy}>
                <Copy text={text} what={words.copySample(name)} />
            </div>
            <pre tabIndex={0} role="region" aria-label={words.sample(name)}>
                {text.slice(0, SHOWN)}
            </pre>
            {text.length > SHOWN && <p className={styles.cut}>{words.cutSample}</p>}
        </>
    );
}
