//! Hash of a result and the creator's signature over it, in their text forms ("Result signature" in
//! `docs/specification.md`).

use std::{fmt, str::FromStr};

use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

use crate::result_text;

/// SHA-256 of a result's UTF-8 bytes. Written `sha256:<64 lower-case hex>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResultHash(pub [u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResultProofError {
    #[error("result_hash must be `sha256:` followed by 64 lower-case hexadecimal digits")]
    HashForm,
    #[error("signature must be `ed25519:` followed by the base58 form of 64 bytes")]
    SignatureForm,
    #[error("result_hash is not the SHA-256 of the result")]
    HashMismatch,
    #[error("the listing's result key is not an Ed25519 public key")]
    KeyForm,
    #[error("the signature is not one of the listing's result key over result_hash")]
    SignatureInvalid,
}

impl ResultHash {
    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The bytes a creator signs: the text form.
    pub fn signed_text(&self) -> [u8; result_text::LEN] {
        result_text::of(&self.0)
    }
}

impl fmt::Display for ResultHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ResultHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ResultHash {
    type Err = ResultProofError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("sha256:").ok_or(ResultProofError::HashForm)?;
        if digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(ResultProofError::HashForm);
        }
        let mut hash = [0u8; 32];
        hex::decode_to_slice(digits, &mut hash).map_err(|_| ResultProofError::HashForm)?;
        Ok(Self(hash))
    }
}

/// Reads `ed25519:<base58 of 64 bytes>`.
pub fn parse_signature(text: &str) -> Result<[u8; 64], ResultProofError> {
    let encoded = text.strip_prefix("ed25519:").ok_or(ResultProofError::SignatureForm)?;
    // 64 bytes are at most 88 base58 digits: longer text is refused before it is decoded.
    if encoded.len() > 88 {
        return Err(ResultProofError::SignatureForm);
    }
    let bytes = bs58::decode(encoded).into_vec().map_err(|_| ResultProofError::SignatureForm)?;
    bytes.try_into().map_err(|_| ResultProofError::SignatureForm)
}

/// Writes a signature as `ed25519:<base58>`.
pub fn format_signature(signature: &[u8; 64]) -> String {
    format!("ed25519:{}", bs58::encode(signature).into_string())
}

/// Checks a signature of `result_key` over the text form of `hash`, with the same strictness as the
/// chain's Ed25519 precompile (`verify_strict`).
pub fn verify_signature(
    result_key: &[u8; 32],
    hash: &ResultHash,
    signature: &[u8; 64],
) -> Result<(), ResultProofError> {
    let key = VerifyingKey::from_bytes(result_key).map_err(|_| ResultProofError::KeyForm)?;
    key.verify_strict(&hash.signed_text(), &Signature::from_bytes(signature))
        .map_err(|_| ResultProofError::SignatureInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};

    #[test]
    fn the_text_form_is_the_one_of_the_specification() {
        let hash = ResultHash::of(b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash.to_string(), text);
        assert_eq!(hash.signed_text().as_slice(), text.as_bytes());
        assert_eq!(text.parse(), Ok(hash));
    }

    #[test]
    fn upper_case_short_and_unprefixed_hashes_are_refused() {
        let good = ResultHash::of(b"x").to_string();
        for bad in
            [good.to_uppercase(), good[..70].to_owned(), good[7..].to_owned(), format!("{good}00"), String::new()]
        {
            assert_eq!(bad.parse::<ResultHash>(), Err(ResultProofError::HashForm), "{bad}");
        }
        assert!(good.replace('a', "A").parse::<ResultHash>().is_err() || !good.contains('a'));
    }

    #[test]
    fn a_signature_is_good_for_its_own_hash_and_key_alone() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let other = SigningKey::from_bytes(&[8; 32]);
        let hash = ResultHash::of(b"result");
        let text = format_signature(&key.sign(&hash.signed_text()).to_bytes());
        let signature = parse_signature(&text).expect("own form parses");
        assert_eq!(verify_signature(key.verifying_key().as_bytes(), &hash, &signature), Ok(()));
        assert_eq!(
            verify_signature(other.verifying_key().as_bytes(), &hash, &signature),
            Err(ResultProofError::SignatureInvalid)
        );
        assert_eq!(
            verify_signature(key.verifying_key().as_bytes(), &ResultHash::of(b"other"), &signature),
            Err(ResultProofError::SignatureInvalid)
        );
    }

    #[test]
    fn malformed_signatures_are_refused() {
        for bad in ["", "ed25519:", "ed25519:0OIl", "ed25519:111", "abc", &format!("ed25519:{}", "1".repeat(10_000))] {
            assert_eq!(parse_signature(bad), Err(ResultProofError::SignatureForm), "{bad}");
        }
    }
}
