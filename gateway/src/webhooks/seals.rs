//! Encrypts the secrets of webhooks for the database, and signs with them and with the service's key. All keys are derived
//! from the gateway's key pair, so that there is no other secret to keep.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use crtx_protocol::webhook::{WebhookKey, WebhookSecret, signed_content};
use crtx_store::webhooks::Sealed;
use hkdf::Hkdf;
use sha2::Sha256;
use solana_signer::Signer;
use uuid::Uuid;

use crate::keys::GatewayKeys;

/// HKDF label of the key that encrypts.
const LABEL: &[u8] = b"crtx webhook secrets v1";

/// Of each key pair of the gateway.
pub(crate) struct Seals {
    keys: GatewayKeys,
    pairs: Vec<SealingPair>,
}

struct SealingPair {
    /// Address of the key pair.
    gateway: String,
    sealing: RandomizedNonceKey,
    signing: WebhookKey,
}

impl Seals {
    #[expect(clippy::expect_used, reason = "HKDF-SHA256 can give 32 bytes, and AES-256 takes them")]
    pub fn new(keys: GatewayKeys) -> Self {
        let pairs = keys.all().map(|keypair| {
            let mut key = [0; 32];
            Hkdf::<Sha256>::new(None, keypair.secret_bytes()).expand(LABEL, &mut key).expect("a valid length");
            SealingPair {
                gateway: keypair.pubkey().to_string(),
                sealing: RandomizedNonceKey::new(&AES_256_GCM, &key).expect("a key of 32 bytes"),
                signing: WebhookKey::of_gateway(keypair.secret_bytes()),
            }
        });
        Self { pairs: pairs.collect(), keys }
    }

    /// The address of the key pair that signs now, whose key encrypts.
    pub fn current(&self) -> String {
        self.keys.pubkey().to_string()
    }

    /// The addresses of the other ones.
    pub fn others(&self) -> Vec<String> {
        let current = self.current();
        self.pairs.iter().map(|pair| &pair.gateway).filter(|gateway| **gateway != current).cloned().collect()
    }

    fn of(&self, gateway: &str) -> Option<&SealingPair> {
        self.pairs.iter().find(|pair| pair.gateway == gateway)
    }

    /// Secrets for the database. They are bound to the webhook. `None` if the system has no randomness.
    pub fn seal(
        &self,
        webhook_id: Uuid,
        url: &str,
        secret: &WebhookSecret,
        old: Option<&WebhookSecret>,
    ) -> Option<Sealed> {
        let sealed_by = self.current();
        let pair = self.of(&sealed_by)?;
        let seal = |secret: &WebhookSecret| {
            let mut bytes = secret.as_bytes().to_vec();
            let nonce = pair.sealing.seal_in_place_append_tag(Aad::from(webhook_id.as_bytes()), &mut bytes).ok()?;
            bytes.extend_from_slice(nonce.as_ref());
            Some(bytes)
        };
        Some(Sealed {
            webhook_id,
            url: url.to_owned(),
            secret: seal(secret)?,
            old_secret: old.and_then(seal),
            sealed_by,
        })
    }

    /// The secrets that sign, the newest first. None if the key pair that encrypted them is not here.
    pub fn open(&self, sealed: &Sealed) -> Vec<WebhookSecret> {
        let Some(pair) = self.of(&sealed.sealed_by) else {
            tracing::error!(webhook = %sealed.webhook_id, by = sealed.sealed_by, "no key pair opens its secrets");
            return Vec::new();
        };
        let open = |bytes: &Vec<u8>| {
            let (bytes, nonce) = bytes.split_last_chunk::<NONCE_LEN>()?;
            let mut bytes = bytes.to_vec();
            let aad = Aad::from(sealed.webhook_id.as_bytes());
            let secret = pair.sealing.open_in_place(Nonce::from(nonce), aad, &mut bytes).ok()?;
            WebhookSecret::from_bytes(secret).ok()
        };
        let secrets = [Some(&sealed.secret), sealed.old_secret.as_ref()].into_iter().flatten().filter_map(open);
        secrets.collect()
    }

    /// The header `webhook-signature`: of each secret, and of the service's key of each key pair.
    pub fn signatures(&self, secrets: &[WebhookSecret], id: &Uuid, timestamp_unix_s: i64, body: &[u8]) -> String {
        let content = signed_content(&id.to_string(), timestamp_unix_s, body);
        let of_secrets = secrets.iter().map(|secret| secret.sign(&content));
        let of_service = self.pairs.iter().map(|pair| pair.signing.sign(&content));
        of_secrets.chain(of_service).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use solana_keypair::Keypair;

    use super::*;

    fn seals(first: u8, other: Option<u8>) -> Seals {
        let keypair = |number| Arc::new(Keypair::new_from_array([number; 32]));
        Seals::new(GatewayKeys::new(keypair(first), other.map(keypair)))
    }

    fn secret(number: u8) -> WebhookSecret {
        WebhookSecret::from_bytes(&[number; 32]).expect("a secret")
    }

    #[test]
    fn what_the_database_has_is_opened_with_the_same_key_pair_for_the_same_webhook_alone() {
        let (id, seals_1) = (Uuid::from_u128(1), seals(1, None));
        let sealed = seals_1.seal(id, "u", &secret(5), Some(&secret(6))).expect("sealed");
        assert!(!sealed.secret.windows(8).any(|part| part == [5; 8]));
        assert_ne!(seals_1.seal(id, "u", &secret(5), None).expect("sealed").secret, sealed.secret, "a new nonce");
        assert_eq!(seals(1, None).open(&sealed), [secret(5), secret(6)]);
        assert_eq!(seals(2, Some(1)).open(&sealed), [secret(5), secret(6)], "while another key pair replaces it");
        assert!(seals(2, None).open(&sealed).is_empty());
        assert!(seals_1.open(&Sealed { webhook_id: Uuid::from_u128(2), ..sealed.clone() }).is_empty());
        let mut altered = sealed.clone();
        altered.secret[0] ^= 1;
        assert_eq!(seals_1.open(&altered), [secret(6)]);
        assert!(seals_1.open(&Sealed { secret: vec![1; 3], old_secret: None, ..sealed }).is_empty());
    }
}
