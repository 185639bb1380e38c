// The links to the pages: a row below the header, and on a narrow screen a list that a button opens.

import { useQuery } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { type FocusEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';

import { networkQuery } from '../shared/api/queries';
import { useWallet } from '../shared/wallet/useWallet';
import styles from './Navigation.module.css';
import { pagesFor } from './navigation';

export function Navigation() {
    const { isOpen, button, nav, toggle, close, handlers } = useDisclosure();
    const { data: network } = useQuery(networkQuery);
    const { connection } = useWallet();
    const { routesByPath } = useRouter();
    const pages = pagesFor((to) => to in routesByPath, connection?.account.address ?? null, network?.roles);
    return (
        <nav aria-label="Pages" className={styles.pages} ref={nav} {...handlers}>
            <button
                type="button"
                ref={button}
                className={styles.toggle}
                aria-expanded={isOpen}
                aria-controls="pages"
                onClick={toggle}
            >
                <svg
                    width="20"
                    height="20"
                    viewBox="0 0 24 24"
                    stroke="currentColor"
                    strokeWidth="2"
                    strokeLinecap="round"
                    aria-hidden="true"
                >
                    <path d={isOpen ? 'M5 5l14 14M19 5L5 19' : 'M4 7h16M4 12h16M4 17h16'} />
                </svg>
                Menu
            </button>
            <ul id="pages" data-open={isOpen}>
                {pages.map(({ to, label }) => (
                    <li key={to}>
                        <Link
                            to={to}
                            className={styles.page}
                            activeOptions={{ exact: to === '/', includeSearch: false }}
                            onClick={close}
                        >
                            {label}
                        </Link>
                    </li>
                ))}
            </ul>
        </nav>
    );
}

/** A list that opens below its button, and closes with Escape, a press elsewhere, or when the focus leaves it. */
function useDisclosure() {
    const [isOpen, setOpen] = useState(false);
    const button = useRef<HTMLButtonElement>(null);
    const nav = useRef<HTMLElement>(null);
    useEffect(() => {
        if (!isOpen) return;
        const pressed = ({ target }: PointerEvent): void => {
            if (target instanceof Node && nav.current?.contains(target) === false) setOpen(false);
        };
        document.addEventListener('pointerdown', pressed);
        return () => document.removeEventListener('pointerdown', pressed);
    }, [isOpen]);
    /**
     * Gives the focus back to the button, because the link that had it is hidden. A new page takes the focus itself.
     */
    const close = (): void => {
        if (isOpen) button.current?.focus();
        setOpen(false);
    };
    const handlers = {
        onKeyDown: ({ key }: KeyboardEvent): void => {
            if (key === 'Escape') close();
        },
        onBlur: ({ relatedTarget }: FocusEvent): void => {
            if (relatedTarget !== null && nav.current?.contains(relatedTarget) === false) setOpen(false);
        },
    };
    return { isOpen, button, nav, toggle: () => setOpen(!isOpen), close, handlers };
}
