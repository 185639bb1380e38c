//! The text that a wallet signs to sign in, in the form of the wallet standard's `signIn` (Sign-in with Solana). Both
//! sides use it: the service writes and checks it, and a client checks what it is asked to sign.

use std::{fmt, str::FromStr};

use solana_pubkey::Pubkey;

use crate::cluster::Cluster;

/// What a person reads in the wallet.
pub const STATEMENT: &str = "Sign in to crtx. This moves no money and gives no permission to spend.";
pub const VERSION: &str = "1";
/// A longer text is not read.
pub const MAX_BYTES: usize = 2_048;

const OPENING: &str = " wants you to sign in with your Solana account:";

/// The fields of the text. None of them contains a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInMessage {
    /// Host of the service, with its port if that is not the default one.
    pub domain: String,
    pub address: Pubkey,
    pub uri: String,
    pub cluster: Cluster,
    pub nonce: String,
    /// ISO 8601.
    pub issued_at: String,
    /// ISO 8601.
    pub expiration_time: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    #[error("is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("is not the text of a sign-in challenge: line {0} differs")]
    Form(usize),
    #[error("names a network that this version does not know")]
    Network,
    #[error("is not exactly the text of its fields")]
    Altered,
}

impl fmt::Display for SignInMessage {
    /// The text to sign. It equals `createSignInMessageText` of the wallet standard.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, address, uri, cluster, nonce, issued_at, expiration_time } = self;
        write!(f, "{domain}{OPENING}\n{address}\n\n{STATEMENT}\n\nURI: {uri}\nVersion: {VERSION}\n")?;
        write!(f, "Chain ID: {}\nNonce: {nonce}\n", cluster.chain_id())?;
        write!(f, "Issued At: {issued_at}\nExpiration Time: {expiration_time}")
    }
}

impl FromStr for SignInMessage {
    type Err = SignInError;

    /// Reads the text. It is accepted only if its fields give the same text, byte for byte.
    fn from_str(text: &str) -> Result<Self, SignInError> {
        if text.len() > MAX_BYTES {
            return Err(SignInError::TooLong);
        }
        let mut lines = (1..).zip(text.split('\n'));
        let mut line = |prefix: &str, suffix: &str| {
            let (number, line) = lines.next().unwrap_or_default();
            let field = line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
            field.ok_or(SignInError::Form(number))
        };
        let domain = line("", OPENING)?.to_owned();
        let address = line("", "")?.parse().map_err(|_| SignInError::Form(2))?;
        for fixed in ["", STATEMENT, ""] {
            line(fixed, "")?;
        }
        let uri = line("URI: ", "")?.to_owned();
        line("Version: ", VERSION)?;
        let cluster = line("Chain ID: ", "")?.parse().map_err(|_| SignInError::Network)?;
        let nonce = line("Nonce: ", "")?.to_owned();
        let issued_at = line("Issued At: ", "")?.to_owned();
        let expiration_time = line("Expiration Time: ", "")?.to_owned();
        let message = Self { domain, address, uri, cluster, nonce, issued_at, expiration_time };
        if message.to_string() == text { Ok(message) } else { Err(SignInError::Altered) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> SignInMessage {
        SignInMessage {
            domain: "api.example:8080".to_owned(),
            address: Pubkey::new_from_array([7; 32]),
            uri: "https://api.example:8080".to_owned(),
            cluster: Cluster::Devnet,
            nonce: "abcDEF123".to_owned(),
            issued_at: "2026-11-21T10:00:00.000Z".to_owned(),
            expiration_time: "2026-11-21T10:05:00.000Z".to_owned(),
        }
    }

    #[test]
    fn the_text_is_the_one_of_the_wallet_standard() {
        let expected = "api.example:8080 wants you to sign in with your Solana account:\n\
            US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx\n\
            \n\
            Sign in to crtx. This moves no money and gives no permission to spend.\n\
            \n\
            URI: https://api.example:8080\n\
            Version: 1\n\
            Chain ID: solana:devnet\n\
            Nonce: abcDEF123\n\
            Issued At: 2026-11-21T10:00:00.000Z\n\
            Expiration Time: 2026-11-21T10:05:00.000Z";
        assert_eq!(message().to_string(), expected);
        assert_eq!(expected.parse(), Ok(message()));
    }

    #[test]
    fn any_other_text_is_refused() {
        let text = message().to_string();
        let is_refused = |text: &str| text.parse::<SignInMessage>().is_err();
        assert!(is_refused(""));
        assert!(is_refused(&"x".repeat(MAX_BYTES + 1)));
        assert!(is_refused(&format!("{text}\n")));
        assert!(is_refused(&format!(" {text}").replace("Sign in to", "Pay")));
        assert!(is_refused(&text.replace('\n', "\r\n")));
        assert!(is_refused(&format!("{text}\nResources:\n- https://evil.example")));
        assert!(is_refused(&text.replace("Version: 1", "Version: 01")));
        assert!(is_refused(&text.replace("solana:devnet", "solana:testnet")));
        for (number, _) in text.match_indices('\n') {
            assert!(is_refused(&text[..number]), "cut at {number}");
        }
    }
}
