//! API keys. A key *is* a session key: its 32 random bytes derive the Ed25519 key pair that signs the
//! opening of an execution. Services store the session public key only, so nothing stored can spend.

use std::{fmt, str::FromStr};

use ed25519_dalek::SigningKey;
use hkdf::Hkdf;
use rand::{TryRngCore, rngs::OsRng};
use sha2::Sha256;

use crate::plain_text;

/// HKDF label of the session key pair. Changing it changes every key.
const SESSION_LABEL: &[u8] = b"crtx session key v1";

/// Longest name of a key.
pub const MAX_NAME_CHARS: usize = 64;
/// Digits of the end of a key's text that are shown.
const LAST_FOUR_LEN: usize = 4;

/// Which chain a key works on; part of the key's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyNetwork {
    /// `crtx_live_`: mainnet, real USDC.
    Live,
    /// `crtx_test_`: devnet and local networks.
    Test,
}

impl KeyNetwork {
    pub const fn other(self) -> Self {
        match self {
            Self::Live => Self::Test,
            Self::Test => Self::Live,
        }
    }

    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Live => "crtx_live_",
            Self::Test => "crtx_test_",
        }
    }
}

/// A key as its owner holds it. Neither `Debug` nor anything else but [`ApiKey::reveal`] shows the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    network: KeyNetwork,
    secret: [u8; 32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiKeyError {
    #[error("an API key starts with `crtx_live_` or `crtx_test_`")]
    Prefix,
    #[error("an API key ends with the base58 form of 32 bytes")]
    Secret,
}

impl ApiKey {
    /// A new key from the operating system's randomness. Fails only if the system has none.
    pub fn generate(network: KeyNetwork) -> Result<Self, rand::rand_core::OsError> {
        let mut secret = [0u8; 32];
        OsRng.try_fill_bytes(&mut secret)?;
        Ok(Self { network, secret })
    }

    pub const fn from_secret(network: KeyNetwork, secret: [u8; 32]) -> Self {
        Self { network, secret }
    }

    pub const fn network(&self) -> KeyNetwork {
        self.network
    }

    /// The key's text: prefix and base58. Show it once, to its owner, and store it nowhere.
    pub fn reveal(&self) -> String {
        format!("{}{}", self.network.prefix(), bs58::encode(self.secret).into_string())
    }

    /// The end of the key's text, by which its owner tells it from others.
    pub fn last_four(&self) -> String {
        let text = self.reveal();
        text.get(text.len().saturating_sub(LAST_FOUR_LEN)..).unwrap_or_default().to_owned()
    }

    /// The key pair that signs `open_execution_with_grant`.
    pub fn session_signing_key(&self) -> SigningKey {
        let mut seed = [0u8; 32];
        #[expect(clippy::expect_used, reason = "32 bytes are always a valid HKDF-SHA256 output length")]
        Hkdf::<Sha256>::new(Some(self.network.prefix().as_bytes()), &self.secret)
            .expand(SESSION_LABEL, &mut seed)
            .expect("32 bytes are a valid output length");
        SigningKey::from_bytes(&seed)
    }

    /// What services store and look keys up by.
    pub fn session_public_key(&self) -> [u8; 32] {
        self.session_signing_key().verifying_key().to_bytes()
    }
}

/// Whether a text can be the end of a key's text.
pub fn is_last_four(text: &str) -> bool {
    text.len() == LAST_FOUR_LEN && bs58::decode(text).into_vec().is_ok()
}

/// Whether a text can be the name of a key: up to 64 visible characters without space around them.
pub fn is_name(text: &str) -> bool {
    let length = text.chars().count();
    (1..=MAX_NAME_CHARS).contains(&length) && text.trim() == text && text.chars().all(plain_text::is_plain)
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", self.network.prefix())
    }
}

impl FromStr for ApiKey {
    type Err = ApiKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = [KeyNetwork::Live, KeyNetwork::Test]
            .into_iter()
            .find(|network| text.starts_with(network.prefix()))
            .ok_or(ApiKeyError::Prefix)?;
        let encoded = text.strip_prefix(network.prefix()).ok_or(ApiKeyError::Prefix)?;
        if encoded.len() > 44 {
            return Err(ApiKeyError::Secret);
        }
        let mut secret = [0u8; 32];
        let written = bs58::decode(encoded).onto(&mut secret).map_err(|_| ApiKeyError::Secret)?;
        if written != secret.len() {
            return Err(ApiKeyError::Secret);
        }
        Ok(Self { network, secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_text_form() {
        let key = ApiKey::generate(KeyNetwork::Test).expect("randomness");
        assert_eq!(key.reveal().parse(), Ok(key));
    }

    #[test]
    fn the_network_is_part_of_the_derivation() {
        let live = ApiKey::from_secret(KeyNetwork::Live, [1; 32]);
        let test = ApiKey::from_secret(KeyNetwork::Test, [1; 32]);
        assert_ne!(live.session_public_key(), test.session_public_key());
    }

    #[test]
    fn malformed_keys_are_refused() {
        assert_eq!("".parse::<ApiKey>(), Err(ApiKeyError::Prefix));
        assert_eq!("crtx_prod_1".parse::<ApiKey>(), Err(ApiKeyError::Prefix));
        for bad in [
            "crtx_test_",
            "crtx_test_0",
            "crtx_test_111",
            &format!("crtx_live_{}", "z".repeat(44)),
            &format!("crtx_live_{}", "1".repeat(99)),
        ] {
            assert_eq!(bad.parse::<ApiKey>(), Err(ApiKeyError::Secret), "{bad}");
        }
    }

    #[test]
    fn the_end_of_a_key_is_shown_and_read() {
        let key = ApiKey::from_secret(KeyNetwork::Live, [9; 32]);
        assert!(key.reveal().ends_with(&key.last_four()));
        assert!(is_last_four(&key.last_four()));
        for bad in ["", "abc", "abcde", "ab0d", "äb"] {
            assert!(!is_last_four(bad), "{bad}");
        }
    }

    #[test]
    fn a_name_is_visible_text_of_bounded_length() {
        for good in ["a", "my laptop (2)", "Schlüssel 字", &"x".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", " ", " a", "a ", "a\nb", "a\u{202e}b", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let key = ApiKey::from_secret(KeyNetwork::Live, [9; 32]);
        assert_eq!(format!("{key:?}"), "ApiKey(crtx_live_…)");
    }
}
