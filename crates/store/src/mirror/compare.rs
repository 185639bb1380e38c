//! Compares accounts with their rows, column by column, for the audit.

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::PgPool;

use super::{
    batch::{Batch, for_each_kind},
    row::MirrorRow,
    table::{MirrorTable, Rows},
};
use crate::error::StoreError;

const ROWS_PER_QUERY: usize = 1_000;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Accounts whose row is equal in every column.
    pub equal: u64,
    /// Accounts that have changed since they were read: their row is newer.
    pub newer_in_mirror: u64,
    pub differences: Vec<Difference>,
}

/// An account whose row is missing, behind or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub address: String,
    pub table: &'static str,
    /// Columns that differ; empty if there is no row.
    pub columns: Vec<String>,
}

/// Compares every account of the batch that can be decoded with its row.
pub async fn compare(pool: &PgPool, batch: &Batch) -> Result<Comparison, StoreError> {
    let mut found = Comparison::default();
    for_each_kind!(batch, rows => compare_rows(pool, rows, &mut found).await?);
    Ok(found)
}

async fn compare_rows<R: MirrorTable>(pool: &PgPool, read: &Rows<R>, found: &mut Comparison) -> Result<(), StoreError> {
    for addresses in read.keys().cloned().collect::<Vec<String>>().chunks(ROWS_PER_QUERY) {
        let stored = R::stored(pool, addresses).await?;
        compare_chunk(read, addresses, stored, found)?;
    }
    Ok(())
}

fn compare_chunk<R: MirrorTable>(
    read: &Rows<R>,
    addresses: &[String],
    stored: Vec<Value>,
    found: &mut Comparison,
) -> Result<(), StoreError> {
    let stored: Rows<R> = stored
        .into_iter()
        .map(|row| serde_json::from_value::<R>(row).map_err(|error| StoreError::corrupt("mirror row", error)))
        .map(|row| row.map(|row| (row.address().to_owned(), row)))
        .collect::<Result<_, _>>()?;
    for address in addresses {
        let Some(read) = read.get(address) else { continue };
        let columns = match stored.get(address) {
            None => Vec::new(),
            Some(stored) if stored.version().0 > read.version().0 => {
                found.newer_in_mirror = found.newer_in_mirror.saturating_add(1);
                continue;
            }
            Some(stored) => {
                let columns = differing_columns(read, stored)?;
                if columns.is_empty() {
                    found.equal = found.equal.saturating_add(1);
                    continue;
                }
                columns
            }
        };
        found.differences.push(Difference { address: address.clone(), table: R::NAME, columns });
    }
    Ok(())
}

fn differing_columns<R: MirrorRow>(read: &R, stored: &R) -> Result<Vec<String>, StoreError> {
    let (read, stored) = (members(read)?, members(stored)?);
    // What the account dropped says nothing about what the row keeps of it.
    let dropped = R::DROPPED.iter().all(|column| read.get(*column).is_none_or(Value::is_null));
    // The slot is when the account was read. It is not part of the account.
    let compared = |column: &str| column != "slot" && !(dropped && R::DROPPED.contains(&column));
    Ok(read
        .into_iter()
        .filter(|(column, value)| compared(column) && stored.get(column) != Some(value))
        .map(|(column, _)| column)
        .collect())
}

fn members<R: Serialize>(row: &R) -> Result<Map<String, Value>, StoreError> {
    match serde_json::to_value(row) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(StoreError::corrupt("mirror row", other)),
        Err(error) => Err(StoreError::corrupt("mirror row", error)),
    }
}
