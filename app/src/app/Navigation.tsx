// The links to the pages: groups that open below the header, and on a narrow screen one menu with all of them.

import { useQuery } from '@tanstack/react-query';
import { Link, useLocation, useRouter } from '@tanstack/react-router';

import { networkQuery } from '../shared/api/queries';
import { useWallet } from '../shared/wallet/useWallet';
import styles from './Navigation.module.css';
import { type Group, type PageLink, currentOf, entriesOf, pagesFor } from './navigation';
import { ThemeSwitch } from './ThemeSwitch';
import { type Disclosure, useDisclosure } from './useDisclosure';
import { words } from './words';

export function Navigation() {
    const disclosure = useDisclosure<Group | 'menu'>();
    const { data: network } = useQuery(networkQuery);
    const { connection } = useWallet();
    const { routesByPath } = useRouter();
    const { pathname, search } = useLocation();
    const pages = pagesFor((to) => to in routesByPath, connection?.account.address ?? null, network?.roles);
    const current = currentOf(pages, pathname, search);
    const { open, home, handlers } = disclosure;
    return (
        <nav aria-label={words.pagesOf} className={styles.nav} ref={home} {...handlers}>
            <MenuButton disclosure={disclosure} />
            <div id="pages" className={styles.entries} data-open={open === 'menu'}>
                {entriesOf(pages).map((entry) =>
                    'pages' in entry ? (
                        <PageGroup
                            key={entry.group}
                            group={entry.group}
                            pages={entry.pages}
                            current={current}
                            disclosure={disclosure}
                        />
                    ) : (
                        <PageItem key={entry.label} page={entry} current={current} close={disclosure.close} />
                    ),
                )}
                <div className={styles.theme}>
                    {words.theme.label}
                    <ThemeSwitch />
                </div>
            </div>
        </nav>
    );
}

const MenuButton = ({ disclosure: { open, toggle } }: { disclosure: Disclosure<Group | 'menu'> }) => (
    <button
        type="button"
        className={styles.toggle}
        aria-expanded={open === 'menu'}
        aria-controls="pages"
        onClick={(event) => toggle('menu', event.currentTarget)}
    >
        <svg width="20" height="20" viewBox="0 0 24 24" stroke="currentColor" strokeWidth="2" aria-hidden="true">
            <path d={open === 'menu' ? 'M5 5l14 14M19 5L5 19' : 'M4 7h16M4 12h16M4 17h16'} strokeLinecap="round" />
        </svg>
        <span className="visually-hidden">{words.menu}</span>
    </button>
);

type GroupProps = {
    group: Group;
    pages: readonly PageLink[];
    current: PageLink | undefined;
    disclosure: Disclosure<Group | 'menu'>;
};

const PageGroup = ({ group, pages, current, disclosure: { open, toggle, close } }: GroupProps) => (
    <div className={styles.group}>
        <button
            type="button"
            className={styles.groupButton}
            aria-expanded={open === group}
            aria-controls={`pages-${group}`}
            data-current={current?.group === group}
            onClick={(event) => toggle(group, event.currentTarget)}
        >
            {words.groups[group]}
            <svg width="12" height="12" viewBox="0 0 12 12" stroke="currentColor" strokeWidth="1.6" aria-hidden="true">
                <path d="M3 4.5l3 3 3-3" fill="none" strokeLinecap="round" strokeLinejoin="round" />
            </svg>
        </button>
        <p className={styles.groupName} aria-hidden="true">
            {words.groups[group]}
        </p>
        <ul id={`pages-${group}`} aria-label={words.groups[group]} className={styles.list} data-open={open === group}>
            {pages.map((page) => (
                <li key={page.label} className={styles.item} data-current={page === current}>
                    <PageItem page={page} current={current} close={close} hintId={hintIdOf(page)} />
                    <span id={hintIdOf(page)} className={styles.hint}>
                        {page.hint}
                    </span>
                </li>
            ))}
        </ul>
    </div>
);

const hintIdOf = ({ to, label }: PageLink): string => `page-${to}-${label}`.replaceAll(/\W+/g, '-').toLowerCase();

type ItemProps = { page: PageLink; current: PageLink | undefined; close: () => void; hintId?: string };

/** The hint describes the link and is not part of its name. */
const PageItem = ({ page, current, close, hintId }: ItemProps) => (
    <Link
        to={page.to}
        {...(page.search && { search: page.search })}
        className={hintId === undefined ? styles.alone : styles.page}
        data-current={page === current}
        activeOptions={{ exact: page !== current, includeSearch: page !== current }}
        {...(hintId !== undefined && { 'aria-describedby': hintId })}
        onClick={close}
    >
        {page.label}
    </Link>
);
