// Shown instead of a page that failed: what happened, and what to do next. Loads the page again by itself where that
// can help.

import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useState } from 'react';

import { ApiError } from '../shared/api/client';
import { PartError, reloadOnce } from '../shared/part';
import { whenServiceAnswers } from '../shared/service';
import { Failure } from '../shared/ui/Failure';
import { Page } from '../shared/ui/Page';
import { PendingPage } from './PendingPage';
import { words } from './words';

export function ErrorPage({ error, reset }: ErrorComponentProps) {
    const router = useRouter();
    const isPart = error instanceof PartError;
    const isAway = error instanceof ApiError && error.status === 0;
    const [isReloading, setReloading] = useState(isPart);
    const again = (): void => {
        if (isPart) return window.location.reload();
        reset();
        void router.invalidate();
    };
    useEffect(() => {
        if (isPart) setReloading(reloadOnce());
    }, [isPart]);
    const goOn = useEffectEvent(again);
    useEffect(() => {
        if (!isAway) return;
        let isShown = true;
        void whenServiceAnswers().then((wasAway) => wasAway && isShown && goOn());
        return () => void (isShown = false);
        // Once for each error.
    }, [error, isAway]);
    if (isReloading) return <PendingPage />;
    return (
        <Page title={words.failed.title}>
            <Failure error={error} onRetry={again} />
        </Page>
    );
}
