// Asks for a sign-in: before the first one, and when the session ended while a page was open.

import { short } from '../../shared/text/short';
import { Button } from '../../shared/ui/Button';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import { useSession } from '../../shared/wallet/useSession';
import styles from './Wallet.module.css';

export const SignIn = ({ why }: { why: string }) => (
    <Notice title="Sign in">
        <p>{why} Your wallet signs a text, which costs nothing.</p>
        <SignInButton />
    </Notice>
);

/** Shown above the page that needs the sign-in, and kept in sight. */
export function SignInAgain() {
    const { other } = useSession();
    return (
        <div role="alert" className={styles.again}>
            <Notice kind="warn" title="Sign in again">
                <p>
                    {other === null
                        ? 'Your sign-in has ended.'
                        : `This browser is signed in with ${short(other)} now, and not with the account of this page.`}{' '}
                    What you wrote is kept. Sign in, then go on.
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
                    {signIn.isPending ? 'Your wallet waits for you' : 'Sign in'}
                </Button>
            </div>
            {signIn.error && <Failure error={signIn.error} />}
        </>
    );
}
