// The search over agents, executions, addresses, pages and actions.

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { networkQuery } from '../../shared/api/queries';
import { useSoon } from '../../shared/soon';
import { Layer } from '../../shared/ui/Layer';
import { useWallet } from '../../shared/wallet/useWallet';
import { pagesFor } from '../navigation';
import { chooseTheme, nextTheme, useTheme } from '../theme';
import { words } from '../words';
import { CHANGE_THEME, type Entry, sectionsOf } from './entries';
import styles from './Find.module.css';
import { Results } from './Results';
import { foundAgentsQuery } from './query';

export default function Find({ onClose }: { onClose: () => void }) {
    const layer = useRef<HTMLDivElement>(null);
    const [text, setText] = useState('');
    const [asked, setAsked] = useState('');
    const { soon } = useSoon((typed: string) => setAsked(typed.trim()));
    const agents = useQuery({ ...foundAgentsQuery(asked), enabled: asked !== '' });
    const sections = useSections(text, asked === '' || text.trim() === '' ? [] : (agents.data ?? []));
    const choose = useChoice();
    return (
        <Layer layer={layer} className={styles.layer} onClose={onClose} focusOn="input" isBackdrop>
            <div role="dialog" aria-label={words.find.name} className={styles.dialog}>
                <Results
                    text={text}
                    onText={(typed) => (setText(typed), soon(typed))}
                    sections={sections}
                    isAsking={text.trim() !== asked || (asked !== '' && agents.isPending && !agents.isError)}
                    failed={asked !== '' && agents.isError}
                    onChoose={(entry) => (layer.current?.hidePopover(), choose(entry))}
                />
            </div>
        </Layer>
    );
}

function useSections(text: string, agents: readonly Schemas['AgentSummary'][]) {
    const { data: network } = useQuery(networkQuery);
    const { connection } = useWallet();
    const { routesByPath } = useRouter();
    const exists = (route: string): boolean => route in routesByPath;
    return sectionsOf(text, agents, pagesFor(exists, connection?.account.address ?? null, network?.roles), exists);
}

function useChoice(): (entry: Entry) => void {
    const navigate = useNavigate();
    const theme = useTheme();
    return ({ id, to, search }) => {
        if (to !== undefined) void navigate({ to, search: { ...search }, reloadDocument: to.startsWith('/proof/') });
        else if (id === CHANGE_THEME) chooseTheme(nextTheme(theme));
    };
}
