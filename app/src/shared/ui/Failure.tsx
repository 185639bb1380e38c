// Shown instead of what an error prevented: what happened, and a button that tries again.

import { ApiError, isSignedOut } from '../api/client';
import { Button } from './Button';
import styles from './Notice.module.css';

export type FailureProps = { error: unknown; onRetry?: (() => void) | undefined };

export const Failure = ({ error, onRetry }: FailureProps) => (
    <div role="alert" className={`${styles.notice} ${styles.bad}`}>
        <p className={styles.title}>{headline(error)}</p>
        <p dir="auto">{messageOf(error)}</p>
        {onRetry && (
            <p>
                <Button onPress={onRetry}>Try again</Button>
            </p>
        )}
    </div>
);

function headline(error: unknown): string {
    if (!(error instanceof ApiError)) return 'Something went wrong';
    if (isSignedOut(error)) return 'Signed out';
    if (error.status === 0) return 'No connection to the service';
    if (error.status === 503) return 'The service is busy or behind';
    return error.status === 404 ? 'Not found' : 'The service refuses this';
}

/** A text for people, of whatever was thrown. */
export function messageOf(error: unknown): string {
    if (error instanceof ApiError && error.retryAfterSeconds !== null) {
        return `${error.message} (Try again in ${error.retryAfterSeconds} s.)`;
    }
    return error instanceof Error
        ? error.message
        : 'Reload the page. If it happens again, the console of the browser says more.';
}
