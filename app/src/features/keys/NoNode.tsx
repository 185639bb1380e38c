// Shown instead of what needs a Solana node when the service names none.

import { Notice } from '../../shared/ui/Notice';
import { words } from './words';

export const NoNode = () => (
    <Notice kind="warn" title={words.noNode}>
        <p>{words.noNodeHint}</p>
    </Notice>
);
