// The end of the list: loads the next page when it comes near, or when the button is pressed.

import { useEffect, useRef } from 'react';

import { plural } from '../figures';
import { Button } from './Button';
import styles from './More.module.css';
import { words } from './words';

/** How far below the window the next page begins to load. */
const AHEAD = '600px';

export type MoreProps = {
    list: {
        hasNextPage: boolean;
        isFetching: boolean;
        isFetchingNextPage: boolean;
        isError: boolean;
        fetchNextPage: () => unknown;
    };
    shown: number;
    /** One entry in words: `agent`. */
    what: string;
};

export function More({ list, shown, what }: MoreProps) {
    const end = useRef<HTMLDivElement>(null);
    const { hasNextPage, isFetching, isFetchingNextPage, isError, fetchNextPage } = list;
    // A refetch of the list cancels the fetch of its next page. So the next page is fetched after the refetch.
    const canLoad = hasNextPage && !isFetching && !isError;
    useEffect(() => {
        if (!canLoad || end.current === null) return;
        const watch = new IntersectionObserver(
            ([entry]) => {
                if (entry?.isIntersecting === true) void fetchNextPage();
            },
            { rootMargin: AHEAD },
        );
        watch.observe(end.current);
        return () => watch.disconnect();
        // Observed again after each page: the end of the list may still be in sight.
    }, [canLoad, fetchNextPage, shown]);
    return (
        <div ref={end} className={styles.more}>
            {hasNextPage ? (
                <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
                    {isFetchingNextPage ? words.more.loading : words.more.more}
                </Button>
            ) : (
                shown > 0 && <p className="muted small">{words.more.all(plural(shown, what))}</p>
            )}
        </div>
    );
}
