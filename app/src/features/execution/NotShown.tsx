// Shown when the service does not show an execution: it belongs to a wallet that has to sign in.

import { Notice } from '../../shared/ui/Notice';
import { Page } from '../../shared/ui/Page';
import { Skeleton } from '../../shared/ui/Skeleton';
import { SessionGate } from '../wallet';

export const NotShown = ({ isLoading }: { isLoading: boolean }) => (
    <Page title="Execution">
        {isLoading ? (
            <Skeleton height="16rem" />
        ) : (
            <SessionGate why="An execution is shown to the wallet that paid for it.">
                {() => (
                    <Notice kind="warn" title="This wallet has no such execution">
                        <p>
                            Another wallet may have paid for it. Change the account in your wallet, or check the address
                            of this page.
                        </p>
                    </Notice>
                )}
            </SessionGate>
        )}
    </Page>
);
