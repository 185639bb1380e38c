// The search over agents, executions, addresses, pages and actions, in a dialog of its own.

import { useQuery } from '@tanstack/react-query';
import { useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';

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
    const dialog = useRef<HTMLDialogElement>(null);
    const [text, setText] = useState('');
    const [asked, setAsked] = useState('');
    const { soon } = useSoon((typed: string) => setAsked(typed.trim()));
    const agents = useQuery({ ...foundAgentsQuery(asked), enabled: asked !== '' });
    const sections = useSections(text);
    const choose = useChoice();
    const opener = useRef<Element>(null);
    useEffect(() => {
        if (dialog.current?.open !== false) return;
        opener.current = document.activeElement;
        dialog.current.showModal();
    }, []);
    /** Gives the focus back to what had it, at once: a page that opens next takes it then. */
    const end = (): void => {
        dialog.current?.close();
        if (opener.current instanceof HTMLElement) opener.current.focus();
        onClose();
    };
    return (
        <dialog
            ref={dialog}
            className={styles.dialog}
            aria-label={words.find.name}
            onClose={end}
            onClick={(event) => event.target === dialog.current && end()}
        >
            <Results
                text={text}
                onText={(typed) => (setText(typed), soon(typed))}
                sections={sections}
                agents={asked === '' || text.trim() === '' ? [] : (agents.data ?? [])}
                isAsking={text.trim() !== asked || (asked !== '' && agents.isPending && !agents.isError)}
                failed={asked !== '' && agents.isError}
                onChoose={(entry) => (end(), choose(entry))}
            />
        </dialog>
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
