//! Ed25519 signatures over texts, checked as strictly as the chain's precompile does.

use ed25519_dalek::{Signature, VerifyingKey};

/// Whether `key` signed the message. A key or signature with more than one encoding, or of small order, is refused.
pub fn is_signed_by(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    #[test]
    fn only_the_key_over_the_very_message_verifies() {
        let key = SigningKey::from_bytes(&[1; 32]);
        let public = key.verifying_key().to_bytes();
        let mut signature = key.sign(b"text").to_bytes();
        assert!(is_signed_by(&public, b"text", &signature));
        assert!(!is_signed_by(&public, b"text ", &signature));
        assert!(!is_signed_by(&SigningKey::from_bytes(&[2; 32]).verifying_key().to_bytes(), b"text", &signature));
        signature[0] ^= 1;
        assert!(!is_signed_by(&public, b"text", &signature));
    }

    #[test]
    fn a_key_of_small_order_signs_nothing() {
        // The identity element: with it, a signature of zeros would hold for every message without `verify_strict`.
        let mut identity = [0; 32];
        identity[0] = 1;
        let mut signature = [0; 64];
        signature[0] = 1;
        assert!(!is_signed_by(&identity, b"text", &signature));
        assert!(!is_signed_by(&[0; 32], b"text", &[0; 64]));
    }
}
