//! Between the types of Rust and of PostgreSQL: everything that can be out of range is checked here.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;

use crate::StoreError;

/// Reads an address as stored.
pub fn pubkey(what: &'static str, text: &str) -> Result<Pubkey, StoreError> {
    text.parse().map_err(|_| StoreError::corrupt(what, text))
}

pub fn amount_to_db(what: &'static str, amount: u64) -> Result<i64, StoreError> {
    i64::try_from(amount).map_err(|_| StoreError::out_of_range(what, amount))
}

pub fn amount_from_db(what: &'static str, amount: i64) -> Result<u64, StoreError> {
    u64::try_from(amount).map_err(|_| StoreError::corrupt(what, amount))
}

/// For numbers that are shown and never reckoned with: a value that no bigint holds becomes the largest one.
pub fn saturating_to_db(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A time of the chain's clock.
pub fn time_to_db(what: &'static str, unix_s: i64) -> Result<DateTime<Utc>, StoreError> {
    DateTime::from_timestamp(unix_s, 0).ok_or_else(|| StoreError::out_of_range(what, unix_s))
}

/// A time that the program writes as 0 while it has not come.
pub fn optional_time_to_db(what: &'static str, unix_s: i64) -> Result<Option<DateTime<Utc>>, StoreError> {
    if unix_s == 0 { Ok(None) } else { time_to_db(what, unix_s).map(Some) }
}

/// An address that the program writes as zeros when there is none.
pub fn optional_address(address: &Pubkey) -> Option<String> {
    (*address != Pubkey::default()).then(|| address.to_string())
}
