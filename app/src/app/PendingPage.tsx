// Shown instead of a page until its code and its data have arrived.

import { Skeleton } from '../shared/ui/Skeleton';
import { words } from './words';

export const PendingPage = () => (
    <div className="stack" role="status" aria-label={words.loading}>
        <Skeleton height="2rem" width="18rem" />
        <Skeleton height="1.5rem" />
        <Skeleton height="16rem" />
    </div>
);
