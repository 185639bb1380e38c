//! Conversions between the types of Rust and of PostgreSQL. They check everything that can be out of range.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;

use crate::{Result, StoreError};

pub fn amount_to_db(what: &'static str, amount: u64) -> Result<i64> {
    i64::try_from(amount).map_err(|_| StoreError::out_of_range(what, amount))
}

pub fn optional_amount_to_db(what: &'static str, amount: Option<u64>) -> Result<Option<i64>> {
    amount.map(|amount| amount_to_db(what, amount)).transpose()
}

/// For numbers that are only shown: a value that no bigint holds becomes the largest one.
pub fn saturating_to_db(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A time of the chain's clock.
pub fn time_to_db(what: &'static str, unix_s: i64) -> Result<DateTime<Utc>> {
    DateTime::from_timestamp(unix_s, 0).ok_or_else(|| StoreError::out_of_range(what, unix_s))
}

/// An address that the program stores as zeros if there is none.
pub fn optional_address(address: &Pubkey) -> Option<String> {
    (*address != Pubkey::default()).then(|| address.to_string())
}
