//! Signatures of webhooks, as Standard Webhooks 1.0 describes them: `v1` with a secret of the webhook, `v1a` with a key of the
//! service.
//!
//! The service's key is derived from the gateway's key pair and signs nothing else. The gateway's key signs transactions, so
//! it never signs what a webhook carries: it signs one text, which names the derived key.

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_STANDARD};
use ed25519_dalek::{Signer, SigningKey};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use rand::{TryRngCore, rngs::OsRng};
use sha2::Sha256;
use solana_pubkey::Pubkey;

/// HKDF label of the service's key.
const KEY_LABEL: &[u8] = b"crtx webhook signing key v1";

/// The secret of a webhook: `whsec_` and base64.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret(Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is `whsec_` and the base64 form of 24 to 64 bytes")]
pub struct SecretError;

impl WebhookSecret {
    pub fn generate() -> Result<Self, rand::rand_core::OsError> {
        let mut bytes = vec![0; 32];
        OsRng.try_fill_bytes(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SecretError> {
        if (24..=64).contains(&bytes.len()) { Ok(Self(bytes.to_vec())) } else { Err(SecretError) }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn reveal(&self) -> String {
        format!("whsec_{}", BASE64_STANDARD.encode(&self.0))
    }

    /// `v1,…`
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    pub fn sign(&self, content: &[u8]) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length").chain_update(content);
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl FromStr for WebhookSecret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let encoded = text.strip_prefix("whsec_").ok_or(SecretError)?;
        Self::from_bytes(&BASE64_STANDARD.decode(encoded).map_err(|_| SecretError)?)
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

/// What is signed. `id` has no full stop.
pub fn signed_content(id: &str, timestamp_unix_s: i64, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp_unix_s.to_string().as_bytes(), b".", body].concat()
}

/// The key with which a service signs webhooks.
#[derive(Clone)]
pub struct WebhookKey {
    key: SigningKey,
    gateway: SigningKey,
}

/// What the gateway says about its key of webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookKeyStatement {
    /// `whpk_` and base64.
    pub public_key: String,
    pub gateway_authority: Pubkey,
    /// Of the gateway over [`key_text`].
    pub signature: [u8; 64],
}

/// The text that the gateway signs. No transaction begins like this.
pub fn key_text(program: &Pubkey, public_key: &str) -> String {
    format!("crtx-webhook-key-v1:{program}:{public_key}")
}

impl WebhookKey {
    /// Of the gateway whose key pair has this secret.
    #[expect(clippy::expect_used, reason = "HKDF-SHA256 can give 32 bytes")]
    pub fn of_gateway(secret: &[u8; 32]) -> Self {
        let mut seed = [0; 32];
        Hkdf::<Sha256>::new(None, secret).expand(KEY_LABEL, &mut seed).expect("32 bytes are a valid output length");
        Self { key: SigningKey::from_bytes(&seed), gateway: SigningKey::from_bytes(secret) }
    }

    pub fn public_key(&self) -> String {
        format!("whpk_{}", BASE64_STANDARD.encode(self.key.verifying_key().as_bytes()))
    }

    pub fn statement(&self, program: &Pubkey) -> WebhookKeyStatement {
        let public_key = self.public_key();
        WebhookKeyStatement {
            signature: self.gateway.sign(key_text(program, &public_key).as_bytes()).to_bytes(),
            gateway_authority: Pubkey::new_from_array(self.gateway.verifying_key().to_bytes()),
            public_key,
        }
    }

    /// `v1a,…`
    pub fn sign(&self, content: &[u8]) -> String {
        format!("v1a,{}", BASE64_STANDARD.encode(self.key.sign(content).to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::is_signed_by;

    #[test]
    fn v1_is_the_signature_of_the_standards_own_example() {
        // From the tests of its reference libraries.
        let secret: WebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().expect("a secret");
        let content = signed_content("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(secret.sign(&content), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_reads_as_it_is_written_and_is_never_shown_by_accident() {
        let secret = WebhookSecret::generate().expect("randomness");
        assert_eq!(secret.reveal().parse(), Ok(secret.clone()));
        assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
        for bad in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%%%"] {
            assert_eq!(bad.parse::<WebhookSecret>(), Err(SecretError), "{bad}");
        }
    }

    #[test]
    fn the_gateway_signs_the_name_of_the_key_and_the_key_signs_the_content() {
        let program = Pubkey::new_from_array([3; 32]);
        let key = WebhookKey::of_gateway(&[1; 32]);
        let statement = key.statement(&program);
        let text = key_text(&program, &statement.public_key);
        let gateway = SigningKey::from_bytes(&[1; 32]).verifying_key().to_bytes();
        assert_eq!(statement.gateway_authority.to_bytes(), gateway);
        assert!(is_signed_by(&gateway, text.as_bytes(), &statement.signature));
        let bytes = |text: &str| BASE64_STANDARD.decode(text).expect("base64");
        let public: [u8; 32] = bytes(&statement.public_key["whpk_".len()..]).try_into().expect("32 bytes");
        assert_ne!(public, gateway, "the gateway's own key signs no content");
        let signature: [u8; 64] = bytes(&key.sign(b"content")["v1a,".len()..]).try_into().expect("64 bytes");
        assert!(is_signed_by(&public, b"content", &signature));
        assert_ne!(statement.public_key, WebhookKey::of_gateway(&[2; 32]).public_key());
    }

    #[test]
    fn the_text_of_a_key_is_no_transaction() {
        // A message of a transaction begins with the number of its signatures, and has no more of them than addresses.
        let text = key_text(&Pubkey::default(), &WebhookKey::of_gateway(&[1; 32]).public_key());
        let [signatures, read_only, _, addresses] = text.as_bytes()[..4] else { panic!("four bytes") };
        assert!(signatures < 0x80 && (signatures > addresses || read_only >= signatures), "{text}");
    }
}
