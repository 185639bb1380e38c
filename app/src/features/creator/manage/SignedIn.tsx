// What is shown in a tab after the sign-in, which stands above the tabs. It stays when the session ends, as the gate
// above keeps it, too.

import { type ReactNode, Suspense, useState } from 'react';

import { Skeleton } from '../../../shared/ui/Skeleton';
import { useSession } from '../../../shared/wallet/useSession';
import { words } from './words';

export function SignedIn({ children }: { children: () => ReactNode }) {
    const { session } = useSession();
    const [wasOpen, setWasOpen] = useState(false);
    if (session && !wasOpen) setWasOpen(true);
    if (session === undefined && !wasOpen) return <Skeleton height="8rem" />;
    if (!session && !wasOpen) return <p className="muted">{words.tabs.signIn}</p>;
    return <Suspense fallback={<Skeleton height="16rem" />}>{children()}</Suspense>;
}
