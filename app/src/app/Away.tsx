// Says on every page that the service does not answer, and lets the page go on when it does.

import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

import { ApiError } from '../shared/api/client';
import { useServiceIsAway, whenServiceAnswers } from '../shared/service';
import { Notice } from '../shared/ui/Notice';
import styles from './Shell.module.css';
import { words } from './words';

export function Away() {
    const isAway = useServiceIsAway();
    useRepeatedReads();
    return (
        <div role="status" className={styles.bar}>
            {isAway && (
                <Notice kind="warn" title={words.away.title}>
                    <p>{words.away.text}</p>
                </Notice>
            )}
        </div>
    );
}

/** Queries that failed while the service was away run again when it answers. */
function useRepeatedReads(): void {
    const queries = useQueryClient();
    useEffect(() => {
        let isWaiting = false;
        const wait = (): void => {
            if (isWaiting) return;
            isWaiting = true;
            void whenServiceAnswers().then((wasAway) => {
                isWaiting = false;
                // If only one answer was lost, the user tries again with a button.
                if (!wasAway) return;
                void queries.refetchQueries({ predicate: ({ state }) => isUnanswered(state.error) });
            });
        };
        const stop = queries.getQueryCache().subscribe((event) => {
            if (event.type === 'updated' && event.action.type === 'error' && isUnanswered(event.action.error)) wait();
        });
        const stopMutations = queries.getMutationCache().subscribe((event) => {
            if (event.type === 'updated' && event.action.type === 'error' && isUnanswered(event.action.error)) wait();
        });
        window.addEventListener('offline', wait);
        return () => {
            stop();
            stopMutations();
            window.removeEventListener('offline', wait);
        };
    }, [queries]);
}

const isUnanswered = (error: unknown): boolean =>
    error instanceof ApiError && error.status === 0 && error.code === 'offline';
