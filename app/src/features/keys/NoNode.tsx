// Shown instead of what needs a Solana node when the service names none.

import { Notice } from '../../shared/ui/Notice';

export const NoNode = () => (
    <Notice kind="warn" title="No Solana node">
        <p>
            This service names no node for browsers, so a page cannot read or change grants here. The command line does
            it: crtx key.
        </p>
    </Notice>
);
