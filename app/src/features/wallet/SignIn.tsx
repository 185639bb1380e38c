// Asks for a sign-in: before the first one, and when the session ended while a page was open.

import { short } from '../../shared/text/short';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { useSession } from '../../shared/wallet/useSession';
import styles from './Wallet.module.css';
import { words } from './words';

export const SignIn = ({ why }: { why: string }) => (
    <Notice title={words.signIn.title}>
        <p>{words.signIn.why(why)}</p>
        <SignInButton />
    </Notice>
);

/** Shown above the page that needs the sign-in, and kept in sight. */
export function SignInAgain() {
    const { other } = useSession();
    return (
        <div role="alert" className={styles.again}>
            <Notice kind="warn" title={words.signIn.again}>
                <p>
                    {other === null ? words.signIn.ended : words.signIn.other(short(other))} {words.signIn.kept}
                </p>
                <SignInButton />
            </Notice>
        </div>
    );
}

function SignInButton() {
    const { signIn } = useSession();
    return (
        <>
            <div>
                <Button look="primary" onPress={() => !signIn.isPending && signIn.mutate()}>
                    {signIn.isPending ? words.signIn.waiting : words.signIn.action}
                </Button>
            </div>
            {signIn.error && <Failure error={signIn.error} />}
        </>
    );
}
