// A page that could not be shown: what happened, and what to do next.

import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';

import { Failure } from '../shared/ui/Failure';
import { Page } from '../shared/ui/Page';

export function ErrorPage({ error, reset }: ErrorComponentProps) {
    const router = useRouter();
    const again = (): void => {
        reset();
        void router.invalidate();
    };
    return (
        <Page title="This page could not be shown">
            <Failure error={error} onRetry={again} />
        </Page>
    );
}
