// The tabs of the page. Which one is shown is in the URL. What was typed into one is kept while another one is shown.

import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components/Tabs';

import { SectionBoundary } from '../../../shared/ui/SectionBoundary';
import styles from './ManageTabs.module.css';
import { type Tab as Name, readTab } from './tabs';
import { words } from './words';

const route = getRouteApi('/creator/agents/$agentId');

/** These ask the service again and again, so they exist only while they are shown. */
const ASKING: readonly Name[] = ['calls', 'webhooks'];

export type ManageTabsProps = { tabs: readonly Name[]; shown: Name; panels: Record<Name, ReactNode> };

export function ManageTabs({ tabs, shown, panels }: ManageTabsProps) {
    const navigate = route.useNavigate();
    // The back button leads to the page before, and not through the tabs.
    const show = (tab: unknown): void => void navigate({ search: readTab({ tab }), replace: true, resetScroll: false });
    return (
        <Tabs className={styles.tabs ?? ''} selectedKey={shown} onSelectionChange={show}>
            <TabList aria-label={words.tabs.title} className={styles.list ?? ''}>
                {tabs.map((tab) => (
                    <Tab key={tab} id={tab} className={styles.tab ?? ''}>
                        {words.tabs[tab]}
                    </Tab>
                ))}
            </TabList>
            {tabs.map((tab) => (
                <TabPanel key={tab} id={tab} className={styles.panel ?? ''} shouldForceMount={!ASKING.includes(tab)}>
                    <SectionBoundary name={words.tabs[tab]}>{panels[tab]}</SectionBoundary>
                </TabPanel>
            ))}
        </Tabs>
    );
}
