//! The `cursor` of lists: an opaque text that says where the next page begins.
//!
//! The text is base64url of a version, a checksum and the sort key of the last item. The checksum covers the scope, which
//! says what the list shows and in which order. So a cursor that was altered, or that another list or another filter
//! gave, is an error and not a page from the wrong place. It keeps no secret: a key that somebody made up selects
//! nothing that the same request without a cursor does not show.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::error::ApiError;

/// The first byte of every cursor. Another layout gets another number.
const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 8;
/// No cursor that a list gives is longer. A longer one is not decoded.
pub const MAX_CURSOR_CHARS: usize = 512;

/// Encodes and decodes the parameter `cursor`.
#[derive(Clone, Copy, Debug)]
pub struct Cursor;

impl Cursor {
    /// The text of a place in the list that `scope` describes: its name, its filters and its order.
    pub fn encode_in(scope: &str, key: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode([&[VERSION], &checksum(scope, key)[..], key].concat())
    }

    /// The key that [`Self::encode_in`] was given with the same scope; else 400.
    pub fn decode_in(scope: &str, text: &str) -> Result<Vec<u8>, ApiError> {
        Self::key(scope, text).ok_or_else(Self::refused)
    }

    /// The error for a cursor that this list did not give.
    pub fn refused() -> ApiError {
        ApiError::invalid("cursor", "must be the `next_cursor` of an answer to the same request")
    }

    fn key(scope: &str, text: &str) -> Option<Vec<u8>> {
        if text.len() > MAX_CURSOR_CHARS {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (sum, key) = bytes.strip_prefix(&[VERSION])?.split_first_chunk::<CHECKSUM_BYTES>()?;
        (*sum == checksum(scope, key)).then(|| key.to_vec())
    }
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
        for key in [&b""[..], b"a", &[0xff; 60]] {
            let text = Cursor::encode_in("executions of x", key);
            assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{text}");
            assert_eq!(Cursor::decode_in("executions of x", &text).as_deref(), Ok(key));
            assert!(Cursor::decode_in("executions of y", &text).is_err());
            assert!(Cursor::decode_in("", &text).is_err());
        }
    }

    #[test]
    fn an_altered_cursor_is_refused_by_name() {
        let text = Cursor::encode_in("list", b"some sort key");
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).expect("ASCII");
            assert!(Cursor::decode_in("list", &altered).is_err(), "{altered}");
        }
        let long = "A".repeat(MAX_CURSOR_CHARS + 1);
        for bad in ["", "A", "====", "é", &text[1..], &text[..text.len() - 2], &format!("{text}AAAA"), &long] {
            let error = Cursor::decode_in("list", bad).expect_err(bad);
            assert!(error.message.starts_with("`cursor` must be"), "{}", error.message);
        }
    }
}
