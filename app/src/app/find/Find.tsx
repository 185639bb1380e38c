// The search over agents, executions, addresses, pages and actions. It is a popover and no modal dialog: a modal one
// makes the browser compute the styles of the whole page again when it opens and when it closes.

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useLayoutEffect, useRef, useState } from 'react';

import { networkQuery } from '../../shared/api/queries';
import { useSoon } from '../../shared/soon';
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
    const sections = useSections(text);
    const choose = useChoice();
    // The browser closes it on Escape and gives the focus back to what had it.
    useLayoutEffect(() => {
        const shown = layer.current;
        shown?.showPopover();
        shown?.querySelector('input')?.focus();
        return () => shown?.hidePopover();
    }, []);
    const end = (): void => layer.current?.hidePopover();
    const isOutside = (element: Element | null): boolean =>
        element !== null && layer.current?.contains(element) === false;
    return (
        <div
            ref={layer}
            popover="auto"
            className={styles.layer}
            onToggle={({ newState }) => newState === 'closed' && onClose()}
            onClick={({ target }) => target === layer.current && end()}
            onBlur={({ relatedTarget }) => isOutside(relatedTarget) && end()}
        >
            <div role="dialog" aria-label={words.find.name} className={styles.dialog}>
                <Results
                    text={text}
                    onText={(typed) => (setText(typed), soon(typed))}
                    sections={sections}
                    agents={asked === '' || text.trim() === '' ? [] : (agents.data ?? [])}
                    isAsking={text.trim() !== asked || (asked !== '' && agents.isPending && !agents.isError)}
                    failed={asked !== '' && agents.isError}
                    onChoose={(entry) => (end(), choose(entry))}
                />
            </div>
        </div>
    );
}

function useSections(text: string) {
    const { data: network } = useQuery(networkQuery);
    const { connection } = useWallet();
    const { routesByPath } = useRouter();
    const exists = (route: string): boolean => route in routesByPath;
    return sectionsOf(text, pagesFor(exists, connection?.account.address ?? null, network?.roles), exists);
}

function useChoice(): (entry: Entry) => void {
    const navigate = useNavigate();
    const theme = useTheme();
    return ({ id, to, search }) => {
        if (to !== undefined) void navigate({ to, search: { ...search }, reloadDocument: to.startsWith('/proof/') });
        else if (id === CHANGE_THEME) chooseTheme(nextTheme(theme));
    };
}
