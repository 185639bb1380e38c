//! Which accounts of a program a read asks for: the node compares, so that only these are sent.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

/// Longest run of bytes that a node compares.
pub const MAX_COMPARED_BYTES: usize = 128;

/// One condition. Several of them all have to hold; nodes take at most four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountFilter {
    /// The account's data has exactly this many bytes.
    DataSize(u64),
    /// The account's data holds these bytes at this offset.
    Bytes { offset: usize, bytes: Vec<u8> },
}

impl AccountFilter {
    /// The form of JSON-RPC.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::DataSize(size) => json!({"dataSize": size}),
            Self::Bytes { offset, bytes } => {
                json!({"memcmp": {"offset": offset, "bytes": BASE64.encode(bytes), "encoding": "base64"}})
            }
        }
    }

    /// Whether an account's data passes. The services ask it again of every answer: a node that ignores
    /// filters sends what nobody asked for.
    pub fn matches(&self, data: &[u8]) -> bool {
        match self {
            Self::DataSize(size) => u64::try_from(data.len()) == Ok(*size),
            Self::Bytes { offset, bytes } => data.get(*offset..).is_some_and(|rest| rest.starts_with(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_past_the_end_of_an_account_never_match() {
        let filter = AccountFilter::Bytes { offset: 3, bytes: vec![4, 5] };
        assert!(filter.matches(&[1, 2, 3, 4, 5, 6]));
        assert!(!filter.matches(&[1, 2, 3, 4]));
        assert!(!filter.matches(&[1, 2]));
    }
}
