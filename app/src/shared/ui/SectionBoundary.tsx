// Keeps a failure in its section: the others stay, and this one says what happened and can be tried again.

import { CatchBoundary, type ErrorComponentProps } from '@tanstack/react-router';
import { useQueryErrorResetBoundary } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { PartError } from '../part';
import { Failure } from './Failure';
import { words } from './words';

export type SectionBoundaryProps = {
    /** What the section shows, for the sentence that it is missing. */
    name: string;
    children: ReactNode;
};

export const SectionBoundary = ({ name, children }: SectionBoundaryProps) => (
    <CatchBoundary
        // Another section of the same place begins without the failure.
        getResetKey={() => name}
        errorComponent={(props) => <Failed {...props} name={name} />}
    >
        {children}
    </CatchBoundary>
);

function Failed({ name, error, reset }: ErrorComponentProps & { name: string }) {
    const queries = useQueryErrorResetBoundary();
    // The page itself loads a newer version.
    if (error instanceof PartError) throw error;
    const again = (): void => {
        queries.reset();
        reset();
    };
    return <Failure title={words.section.notShown(name)} error={error} onRetry={again} />;
}
