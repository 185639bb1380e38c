//! Filters for the accounts of a program. The node applies them and sends only the accounts that match.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

/// One condition. All conditions of a read must hold; nodes accept at most four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountFilter {
    /// The account's data has exactly this length.
    DataSize(u64),
    /// The account's data has these bytes at this offset.
    Bytes { offset: usize, bytes: Vec<u8> },
}

impl AccountFilter {
    /// The JSON-RPC form.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::DataSize(size) => json!({"dataSize": size}),
            Self::Bytes { offset, bytes } => {
                json!({"memcmp": {"offset": offset, "bytes": BASE64.encode(bytes), "encoding": "base64"}})
            }
        }
    }

    /// Whether an account's data matches. The services check every answer again, because a node that ignores filters
    /// sends other accounts too.
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
