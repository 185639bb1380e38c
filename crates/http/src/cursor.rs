//! The `cursor` of lists: an opaque text that says where the next page begins.
//!
//! The text is base64url of a version, a checksum and the sort key of the last item. The checksum covers the scope, which
//! says what the list shows and in which order. So a cursor that was altered, or that another list or another filter
//! gave, is an error and not a page from the wrong place. It keeps no secret: a key that somebody made up selects
//! nothing that the same request without a cursor does not show.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use crate::error::ApiError;

/// The first byte of every cursor. Another layout gets another number.
const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 8;
/// No cursor that a list gives is longer. A longer one is not decoded.
pub const MAX_CURSOR_CHARS: usize = 512;

/// The text of a place in the list that `scope` describes: its name, its filters and its order.
pub fn encode(scope: &str, place: &impl Serialize) -> Result<String, ApiError> {
    Ok(with_checksum(scope, &serde_json::to_vec(place).map_err(ApiError::internal)?))
}

fn with_checksum(scope: &str, key: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode([&[VERSION], &checksum(scope, key)[..], key].concat())
}

/// The place that [`encode`] was given with the same scope; else 400.
pub fn decode<P: DeserializeOwned>(scope: &str, text: &str) -> Result<P, ApiError> {
    let refused = || ApiError::invalid("cursor", "must be the `next_cursor` of an answer to the same request");
    let bytes = Some(text).filter(|text| text.len() <= MAX_CURSOR_CHARS);
    let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok()).ok_or_else(refused)?;
    let parts = bytes.strip_prefix(&[VERSION]).and_then(|rest| rest.split_first_chunk::<CHECKSUM_BYTES>());
    let (_, key) = parts.filter(|(sum, key)| **sum == checksum(scope, key)).ok_or_else(refused)?;
    serde_json::from_slice(key).map_err(|_| refused())
}

fn checksum(scope: &str, key: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let scope = Sha256::digest(scope);
    let sum: [u8; 32] = Sha256::new().chain_update([VERSION]).chain_update(scope).chain_update(key).finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = sum;
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_gives_its_key_back_in_its_own_scope_only() {
        let text_of = |key: &[u8]| with_checksum("executions of x", key);
        for key in ["", "a", &"\u{ff}".repeat(60)] {
            let text = encode("executions of x", &key).expect("JSON");
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{text}");
            assert_eq!(decode::<String>("executions of x", &text).as_deref(), Ok(key));
            assert!(decode::<String>("executions of y", &text).is_err());
            assert!(decode::<String>("", &text).is_err());
            for bad in [text_of(b""), text_of(b"7"), text_of(b"\"a"), text_of(b"\"a\"x")] {
                assert!(decode::<String>("executions of x", &bad).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn an_altered_cursor_is_refused_by_name() {
        let text = encode("list", &"some sort key").expect("JSON");
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).expect("ASCII");
            assert!(decode::<String>("list", &altered).is_err(), "{altered}");
        }
        let long = "A".repeat(MAX_CURSOR_CHARS + 1);
        for bad in ["", "A", "====", "é", &text[1..], &text[..text.len() - 2], &format!("{text}AAAA"), &long] {
            let error = decode::<String>("list", bad).expect_err(bad);
            assert!(error.message.starts_with("`cursor` must be"), "{}", error.message);
        }
    }
}
