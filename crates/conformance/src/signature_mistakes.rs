//! Finds out what a wrong signature was made over, and whether it was made with the listed key.

use crtx_protocol::{
    call_text::{self, OpeningId},
    result_hash::ResultHash,
};
use ed25519_dalek::{Signature, SigningKey, Verifier, VerifyingKey};
use uuid::Uuid;

/// What the agent signed in place of the right message.
pub type Mistake = &'static str;

/// What an answer holds and is for. An agent that signs the wrong message probably signs a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    pub result: &'a str,
    pub hash: &'a ResultHash,
    pub execution_id: Uuid,
    pub opening: &'a OpeningId,
}

/// Whether a signature holds, as the chain checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureVerdict {
    Good,
    /// Of the key, over another message.
    Other(Mistake),
    /// Of another key, or over a message that nobody would guess.
    Unknown,
}

/// The key, if the chain would accept signatures of it.
pub fn usable(key: &[u8; 32]) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(key).ok().filter(|key| !key.is_weak())
}

/// The public key, if `bytes` is a private key whose signature this is.
pub fn made_with_private_key(bytes: &[u8; 32], signed: Signed<'_>, signature: &[u8; 64]) -> Option<VerifyingKey> {
    let key = SigningKey::from_bytes(bytes).verifying_key();
    (of_result(&key, signed, signature) != SignatureVerdict::Unknown).then_some(key)
}

/// What the signature of a result was made over.
pub fn of_result(key: &VerifyingKey, signed: Signed<'_>, signature: &[u8; 64]) -> SignatureVerdict {
    let text = signed.hash.signed_text();
    let call = call_text::of(signed.opening, &signed.hash.0);
    look(key, &text, signature, &[(&call, "the message of `call_signature`")], signed)
}

/// What the call-bound signature of a result was made over.
pub fn of_call(key: &VerifyingKey, signed: Signed<'_>, signature: &[u8; 64]) -> SignatureVerdict {
    let message = call_text::of(signed.opening, &signed.hash.0);
    let text = signed.hash.to_string();
    let OpeningId { record, opened_at_unix_s } = *signed.opening;
    let address = bs58::encode(record).into_string();
    let second = opened_at_unix_s.to_le_bytes();
    let timed = |record: &[u8], second: &[u8], hash: &[u8]| {
        [b"crtx-call-v2:".as_slice(), record, b":", second, b":", hash].concat()
    };
    let parts = |record: &[u8], hash: &[u8]| timed(record, &second, hash);
    let decimal = opened_at_unix_s.to_string();
    let others: [(&[u8], Mistake); 10] = [
        (&signed.hash.signed_text(), "the message of `signature`, without the call"),
        (&parts(address.as_bytes(), text.as_bytes()), "the base58 text of `execution_record` in place of its 32 bytes"),
        (&parts(hex::encode(record).as_bytes(), text.as_bytes()), "the hexadecimal form of `execution_record`"),
        (&parts(signed.execution_id.as_bytes(), text.as_bytes()), "`execution_id` in place of `execution_record`"),
        (
            &parts(signed.execution_id.to_string().as_bytes(), text.as_bytes()),
            "`execution_id` in place of `execution_record`",
        ),
        (&parts(&record, &signed.hash.0), "the 32 bytes of the hash in place of the text `result_hash`"),
        (
            &timed(&record, decimal.as_bytes(), text.as_bytes()),
            "the decimal digits of `opened_at_unix_s` in place of its 8 bytes",
        ),
        (
            &timed(&record, &opened_at_unix_s.to_be_bytes(), text.as_bytes()),
            "`opened_at_unix_s` with its highest byte first",
        ),
        (
            &[b"crtx-call-v1:".as_slice(), &record, b":", text.as_bytes()].concat(),
            "the message of an earlier version, without `opened_at_unix_s`",
        ),
        (&[record.as_slice(), b":", &second, b":", text.as_bytes()].concat(), "the message without `crtx-call-v2:`"),
    ];
    look(key, &message, signature, &others, signed)
}

fn look(
    key: &VerifyingKey,
    message: &[u8],
    signature: &[u8; 64],
    others: &[(&[u8], Mistake)],
    signed: Signed<'_>,
) -> SignatureVerdict {
    let signature = Signature::from_bytes(signature);
    if key.verify_strict(message, &signature).is_ok() {
        return SignatureVerdict::Good;
    }
    if key.verify(message, &signature).is_ok() {
        return SignatureVerdict::Other("the right message, but in a form that the chain refuses");
    }
    let found = others.iter().find(|(other, _)| key.verify(other, &signature).is_ok());
    if let Some((_, mistake)) = found {
        return SignatureVerdict::Other(mistake);
    }
    let text = signed.hash.to_string();
    let digits = text.strip_prefix("sha256:").unwrap_or_default();
    let spelled: [(&[u8], Mistake); 9] = [
        (&signed.hash.0, "the 32 bytes of the hash in place of its text"),
        (digits.as_bytes(), "the hexadecimal digits without `sha256:`"),
        (signed.result.as_bytes(), "the result in place of its hash"),
        (&format!("\"{text}\"").into_bytes(), "`result_hash` with its quotation marks"),
        (&format!("{text}\n").into_bytes(), "`result_hash` with a line end after it"),
        (&text.to_uppercase().into_bytes(), "`result_hash` in upper case"),
        (&digits.to_uppercase().into_bytes(), "the hexadecimal digits in upper case"),
        (&ResultHash::of(text.as_bytes()).0, "the SHA-256 of `result_hash`"),
        (b"", "an empty message"),
    ];
    let found = spelled.iter().find(|(other, _)| key.verify(other, &signature).is_ok());
    found.map_or(SignatureVerdict::Unknown, |(_, mistake)| SignatureVerdict::Other(mistake))
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::Signer;

    use super::*;

    #[test]
    fn what_was_signed_is_named_and_a_foreign_key_is_not_guessed() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let hash = ResultHash::of(b"result");
        let opening = OpeningId { record: [3; 32], opened_at_unix_s: 1_700_000_000 };
        let signed = Signed { result: "result", hash: &hash, execution_id: Uuid::from_u128(1), opening: &opening };
        let verdict = |message: &[u8]| of_result(&key.verifying_key(), signed, &key.sign(message).to_bytes());
        assert_eq!(verdict(hash.to_string().as_bytes()), SignatureVerdict::Good);
        for (message, named) in [
            (hash.0.to_vec(), "32 bytes"),
            (hex::encode(hash.0).into_bytes(), "without `sha256:`"),
            (b"result".to_vec(), "the result"),
            (format!("{hash}\n").into_bytes(), "line end"),
            (call_text::of(&opening, &hash.0).to_vec(), "call_signature"),
        ] {
            assert!(
                matches!(verdict(&message), SignatureVerdict::Other(mistake) if mistake.contains(named)),
                "{named}"
            );
        }
        assert_eq!(verdict(b"something"), SignatureVerdict::Unknown);
        let call = |message: &[u8]| of_call(&key.verifying_key(), signed, &key.sign(message).to_bytes());
        assert_eq!(call(&call_text::of(&opening, &hash.0)), SignatureVerdict::Good);
        let decimal = [b"crtx-call-v2:", [3; 32].as_slice(), b":1700000000:", hash.to_string().as_bytes()].concat();
        for (message, named) in [(hash.signed_text().to_vec(), "without the call"), (decimal, "decimal digits")] {
            assert!(matches!(call(&message), SignatureVerdict::Other(mistake) if mistake.contains(named)), "{named}");
        }
        let foreign = SigningKey::from_bytes(&[8; 32]).sign(&hash.signed_text()).to_bytes();
        assert_eq!(of_result(&key.verifying_key(), signed, &foreign), SignatureVerdict::Unknown);
        let own = key.sign(&hash.signed_text()).to_bytes();
        assert_eq!(made_with_private_key(&[7; 32], signed, &own), Some(key.verifying_key()));
        assert_eq!(made_with_private_key(&[7; 32], signed, &foreign), None);
        assert_eq!(usable(&[0; 32]), None);
    }
}
