//! The secret of a session, and what follows from it: the hash that is stored and the token against forged requests.

use std::{fmt, str::FromStr};

use hmac::{Hmac, Mac};
use rand::{TryRngCore, rngs::OsRng};
use sha2::{Digest, Sha256};

/// How the text of a token begins.
pub const PREFIX: &str = "crtx_session_";

const CSRF_LABEL: &[u8] = b"crtx csrf token v1";
/// Base58 digits of 32 bytes.
const MAX_DIGITS: usize = 44;

/// The secret of one session. Neither `Debug` nor anything else but [`SessionToken::reveal`] shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken([u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session token is `{PREFIX}` and the base58 form of 32 bytes")]
pub struct NotASessionToken;

impl SessionToken {
    /// A new token from the operating system's randomness. Fails only if the system has none.
    pub fn generate() -> Result<Self, rand::rand_core::OsError> {
        let mut secret = [0; 32];
        OsRng.try_fill_bytes(&mut secret)?;
        Ok(Self(secret))
    }

    /// The token's text. It goes to its owner and is stored nowhere.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", bs58::encode(self.0).into_string())
    }

    /// What services store and look sessions up by.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// What a page of the own origin sends in `X-CSRF-Token`. A foreign page cannot read it, and who knows it cannot
    /// compute the session token from it.
    pub fn csrf_token(&self) -> String {
        bs58::encode(self.csrf().finalize().into_bytes()).into_string()
    }

    /// Compares in constant time.
    pub fn is_csrf_token(&self, text: &str) -> bool {
        let mut sent = [0; 32];
        text.len() <= MAX_DIGITS
            && bs58::decode(text).onto(&mut sent) == Ok(sent.len())
            && self.csrf().verify_slice(&sent).is_ok()
    }

    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn csrf(&self) -> Hmac<Sha256> {
        Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length").chain_update(CSRF_LABEL)
    }
}

impl fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionToken({PREFIX}…)")
    }
}

impl FromStr for SessionToken {
    type Err = NotASessionToken;

    fn from_str(text: &str) -> Result<Self, NotASessionToken> {
        let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() <= MAX_DIGITS).ok_or(NotASessionToken)?;
        let mut secret = [0; 32];
        let written = bs58::decode(digits).onto(&mut secret).map_err(|_| NotASessionToken)?;
        if written == secret.len() { Ok(Self(secret)) } else { Err(NotASessionToken) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_text_form_and_is_hidden_from_logs() {
        let token = SessionToken::generate().expect("randomness");
        assert_eq!(token.reveal().parse(), Ok(token.clone()));
        assert_eq!(format!("{token:?}"), "SessionToken(crtx_session_…)");
        for bad in ["", PREFIX, "crtx_session_0", "crtx_session_11", &format!("{PREFIX}{}", "z".repeat(44))] {
            assert_eq!(bad.parse::<SessionToken>(), Err(NotASessionToken), "{bad}");
        }
    }

    #[test]
    fn the_token_against_forged_requests_is_good_for_its_own_session_alone() {
        let (token, other) = (SessionToken([1; 32]), SessionToken([2; 32]));
        assert!(token.is_csrf_token(&token.csrf_token()));
        for bad in [&other.csrf_token(), "", "1", &token.reveal(), &bs58::encode(token.hash()).into_string()] {
            assert!(!token.is_csrf_token(bad), "{bad}");
        }
    }
}
