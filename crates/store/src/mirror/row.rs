//! What all rows have in common. Rows travel to PostgreSQL as JSON whose members are the columns, and come back in
//! the same way for the audit, so that one comparison shows whether a row equals its account.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use solana_pubkey::Pubkey;

use crate::error::StoreError;

/// An account type that the mirror has a table for.
pub trait Mirrored {
    type Row: MirrorRow;

    /// The row of an account as read at `slot`. Fails for bytes that the program never writes.
    fn to_row(&self, address: &Pubkey, slot: u64) -> Result<Self::Row, StoreError>;
}

pub trait MirrorRow: Serialize {
    /// Columns whose values the program drops at the end of the account's work, all of them together. The mirror keeps
    /// what it knows of them.
    const DROPPED: &'static [&'static str];

    fn address(&self) -> &str;

    /// Rows are ordered by revision, then by slot.
    fn version(&self) -> (i64, i64);

    /// Takes over from another state of the same account what this state no longer has.
    fn keep_dropped(&mut self, other: &Self);
}

/// Bytes in the text form of `bytea`: `\x` and hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("\\x{}", hex::encode(&self.0)))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("\\x").ok_or_else(|| de::Error::custom("bytea starts with \\x"))?;
        hex::decode(digits).map(Self).map_err(de::Error::custom)
    }
}

/// A hash that the program stores as zeros if there is none.
pub fn optional_hash(hash: &[u8; 32]) -> Option<Bytes> {
    (*hash != [0; 32]).then(|| Bytes(hash.to_vec()))
}

pub fn bit(what: &'static str, value: u8) -> Result<bool, StoreError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(StoreError::corrupt(what, other)),
    }
}
