//! Hash of a result and the creator's signatures over it, in their text forms ("Result signature" and "Call-bound
//! signature" in `docs/specification.md`).

use std::{fmt, str::FromStr};

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};

use crate::{
    call_text::{self, OpeningId},
    failure_text, result_text,
};

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
    #[error("call_signature is missing: the listing promises results that are signed for the call")]
    CallSignatureMissing,
    #[error("call_signature must be `ed25519:` followed by the base58 form of 64 bytes")]
    CallSignatureForm,
    #[error(
        "call_signature is not one of the listing's result key over this execution_record, opened_at_unix_s and result_hash"
    )]
    CallSignatureInvalid,
    #[error("failure_signature is not one of the listing's result key over this execution_record and opened_at_unix_s")]
    FailureSignatureInvalid,
}

/// A creator's signatures over one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallProof {
    /// Over the text form of the result's hash.
    pub signature: [u8; 64],
    /// Over the text of the call ([`call_text`]). Only agents that promise call-bound signatures have to give it.
    pub call_signature: Option<[u8; 64]>,
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

impl Serialize for ResultHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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

impl<'de> Deserialize<'de> for ResultHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
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
    verify_strict(result_key, &hash.signed_text(), signature, ResultProofError::SignatureInvalid)
}

/// Checks a signature of `result_key` over the text of the call, with the strictness of [`verify_signature`].
pub fn verify_call_signature(
    result_key: &[u8; 32],
    opening: &OpeningId,
    hash: &ResultHash,
    signature: &[u8; 64],
) -> Result<(), ResultProofError> {
    let message = call_text::of(opening, &hash.0);
    verify_strict(result_key, &message, signature, ResultProofError::CallSignatureInvalid)
}

/// Checks a signature of `result_key` over the text of the failure, with the strictness of [`verify_signature`].
pub fn verify_failure_signature(
    result_key: &[u8; 32],
    opening: &OpeningId,
    signature: &[u8; 64],
) -> Result<(), ResultProofError> {
    verify_strict(result_key, &failure_text::of(opening), signature, ResultProofError::FailureSignatureInvalid)
}

/// What `key` signs to say that its service failed in this opening.
pub fn sign_failure(key: &SigningKey, opening: &OpeningId) -> [u8; 64] {
    key.sign(&failure_text::of(opening)).to_bytes()
}

fn verify_strict(
    result_key: &[u8; 32],
    message: &[u8],
    signature: &[u8; 64],
    invalid: ResultProofError,
) -> Result<(), ResultProofError> {
    let key = VerifyingKey::from_bytes(result_key).map_err(|_| ResultProofError::KeyForm)?;
    key.verify_strict(message, &Signature::from_bytes(signature)).map_err(|_| invalid)
}

impl CallProof {
    /// Both signatures of `key`, for one opening of an execution.
    pub fn sign(key: &SigningKey, opening: &OpeningId, hash: &ResultHash) -> Self {
        Self {
            signature: key.sign(&hash.signed_text()).to_bytes(),
            call_signature: Some(key.sign(&call_text::of(opening, &hash.0)).to_bytes()),
        }
    }

    /// Checks the signatures that the execution demands. `bound_to`: the opening, if results are signed for the call;
    /// otherwise `call_signature` is not looked at.
    pub fn verify(
        &self,
        result_key: &[u8; 32],
        hash: &ResultHash,
        bound_to: Option<&OpeningId>,
    ) -> Result<(), ResultProofError> {
        verify_signature(result_key, hash, &self.signature)?;
        let Some(opening) = bound_to else { return Ok(()) };
        let signature = self.call_signature.ok_or(ResultProofError::CallSignatureMissing)?;
        verify_call_signature(result_key, opening, hash, &signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_is_the_one_of_the_specification() {
        let hash = ResultHash::of(b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(hash.to_string(), text);
        assert_eq!(hash.signed_text().as_slice(), text.as_bytes());
        assert_eq!(text.parse(), Ok(hash));
    }

    #[test]
    fn a_failure_signature_is_good_for_its_own_opening_and_key_alone() {
        let (key, other) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
        let opening = OpeningId { record: [1; 32], opened_at_unix_s: 5 };
        let signature = sign_failure(&key, &opening);
        let verify =
            |key: &SigningKey, opening| verify_failure_signature(key.verifying_key().as_bytes(), opening, &signature);
        assert_eq!(verify(&key, &opening), Ok(()));
        let later = OpeningId { opened_at_unix_s: 6, ..opening };
        for refused in [verify(&other, &opening), verify(&key, &later)] {
            assert_eq!(refused, Err(ResultProofError::FailureSignatureInvalid));
        }
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

    #[test]
    fn a_bound_call_needs_both_signatures_and_one_of_another_call_does_not_count() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let hash = ResultHash::of(b"result");
        let opening = OpeningId { record: [1; 32], opened_at_unix_s: 1_700_000_000 };
        let verify = |proof: &CallProof, bound_to| proof.verify(key.verifying_key().as_bytes(), &hash, bound_to);
        let good = CallProof::sign(&key, &opening, &hash);
        assert_eq!(verify(&good, Some(&opening)), Ok(()));
        let another_record = OpeningId { record: [2; 32], ..opening };
        let opened_again = OpeningId { opened_at_unix_s: 1_700_000_001, ..opening };
        for other in [&another_record, &opened_again] {
            assert_eq!(verify(&good, Some(other)), Err(ResultProofError::CallSignatureInvalid));
        }
        let old = CallProof { call_signature: None, ..good };
        assert_eq!(verify(&old, Some(&opening)), Err(ResultProofError::CallSignatureMissing));
        let in_place_of_the_other = CallProof { call_signature: Some(good.signature), ..good };
        assert_eq!(verify(&in_place_of_the_other, Some(&opening)), Err(ResultProofError::CallSignatureInvalid));
        let swapped = CallProof { signature: good.call_signature.expect("signed"), ..good };
        assert_eq!(verify(&swapped, Some(&opening)), Err(ResultProofError::SignatureInvalid));
    }

    #[test]
    fn an_unbound_call_ignores_the_call_signature() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let hash = ResultHash::of(b"result");
        let opening = OpeningId { record: [1; 32], opened_at_unix_s: 1_700_000_000 };
        let proof = CallProof { call_signature: Some([0; 64]), ..CallProof::sign(&key, &opening, &hash) };
        assert_eq!(proof.verify(key.verifying_key().as_bytes(), &hash, None), Ok(()));
    }
}
