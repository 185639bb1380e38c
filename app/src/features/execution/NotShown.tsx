// Shown when the service does not show an execution: it belongs to a wallet that has to sign in.

import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { SessionGate } from '../wallet';
import { words } from './words';

export const NotShown = ({ isLoading }: { isLoading: boolean }) => (
    <Page title={words.title}>
        {isLoading ? (
            <Skeleton height="16rem" />
        ) : (
            <SessionGate why={words.whySignIn}>
                {() => (
                    <Notice kind="warn" title={words.notMine}>
                        <p>{words.notMineText}</p>
                    </Notice>
                )}
            </SessionGate>
        )}
    </Page>
);
