// Shown instead of what an error prevented: what happened, and a button that tries again.

import { ApiError, isSignedOut } from '../api/client';
import { UserText } from '../text/UserText';
import { Button } from './Button';
import styles from './Notice.module.css';
import { words } from './words';

export type FailureProps = {
    error: unknown;
    onRetry?: (() => void) | undefined;
    /** In place of what the error says of itself. */
    title?: string;
};

export const Failure = ({ error, onRetry, title }: FailureProps) => (
    <div role="alert" className={`${styles.notice} ${styles.bad}`}>
        <p className={styles.title}>{title ?? headline(error)}</p>
        <p>
            <UserText text={messageOf(error)} />
        </p>
        {onRetry && (
            <p>
                <Button onPress={onRetry}>{words.failure.retry}</Button>
            </p>
        )}
    </div>
);

function headline(error: unknown): string {
    if (!(error instanceof ApiError)) return words.failure.unknown;
    if (isSignedOut(error)) return words.failure.signedOut;
    if (error.status === 0) return words.failure.offline;
    if (error.status === 503) return words.failure.busy;
    return error.status === 404 ? words.failure.notFound : words.failure.refused;
}

/** A text for people, of whatever was thrown. */
export function messageOf(error: unknown): string {
    if (error instanceof ApiError && error.retryAfterSeconds !== null) {
        return words.failure.wait(error.message, error.retryAfterSeconds);
    }
    return error instanceof Error ? error.message : words.failure.noMessage;
}
