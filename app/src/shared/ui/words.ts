// What the parts that every page uses say.

export const words = {
    copy: {
        idle: 'Copy',
        done: 'Copied',
        failed: 'Not copied',
        toast: (what: string) => `Copied: ${what}`,
    },
    address: 'address',
    failure: {
        retry: 'Try again',
        unknown: 'Something went wrong',
        signedOut: 'Signed out',
        offline: 'No connection to the service',
        busy: 'The service is busy or behind',
        notFound: 'Not found',
        refused: 'The service refuses this',
        wait: (message: string, seconds: number) => `${message} (Try again in ${seconds} s.)`,
        noMessage: 'Reload the page. If it happens again, the console of the browser says more.',
    },
    section: {
        notShown: (name: string) => `${name} could not be shown`,
    },
    statuses: {
        pending: 'Waiting',
        running: 'Running',
        completed: 'Completed',
        failed: 'Failed',
        disputed: 'Disputed',
        expired: 'Expired',
    },
    confirm: {
        cancel: 'Cancel',
        tickFirst: 'Tick the box first.',
    },
    more: {
        loading: 'Loading more …',
        more: 'Show more',
        all: (count: string) => `That is all: ${count}.`,
    },
} as const;
