// Shows the remarks of `toast.ts` at the lower edge. A screen reader says them; nothing in them takes the focus.

import { useToasts } from './toast';
import styles from './Toaster.module.css';

export const Toaster = () => (
    <div aria-live="polite" className={styles.toaster}>
        {useToasts().map(({ id, text }) => (
            <Toast key={id} text={text} />
        ))}
    </div>
);

export const Toast = ({ text }: { text: string }) => (
    <p className={styles.toast}>
        <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true">
            <path d="M5 12.5l4.5 4.5L19 7" fill="none" stroke="currentColor" strokeWidth="2.5" />
        </svg>
        {text}
    </p>
);
