// A page with its title, in the window and as the heading.

import type { ReactNode } from 'react';

export type PageProps = {
    /** Plain text; also the name of the browser's tab. */
    title: string;
    /** Shown as the heading in place of the title. */
    heading?: ReactNode;
    children: ReactNode;
};

export const Page = ({ title, heading, children }: PageProps) => (
    <div className="stack">
        <title>{`${title} · crtx`}</title>
        <h1>{heading ?? title}</h1>
        {children}
    </div>
);
