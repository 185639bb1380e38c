//! Compares accounts with their rows, column by column, for the audit.

use std::collections::HashMap;

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
    /// Accounts whose row is newer: they have changed since they were read, or the row was invented.
    pub newer_in_mirror: u64,
    pub newer: Vec<Newer>,
    pub differences: Vec<Difference>,
}

/// An account whose row claims a later state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Newer {
    pub address: String,
    pub table: &'static str,
    /// The revisions of the account and of its row.
    pub revision: i64,
    pub row_revision: i64,
}

/// An account whose row is missing, behind or wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub address: String,
    pub table: &'static str,
    /// Columns that differ; empty if there is no row.
    pub columns: Vec<String>,
    /// The revision of the account.
    pub revision: i64,
    /// The revision of the row; `None` if there is no row of an open account.
    pub row_revision: Option<i64>,
}

/// Compares every account of the batch that can be decoded with its row.
pub async fn compare(pool: &PgPool, batch: &Batch) -> Result<Comparison, StoreError> {
    let mut found = Comparison::default();
    for_each_kind!(batch, rows => compare_rows(pool, rows, &mut found).await?);
    Ok(found)
}

/// Compares every account of the batch that can be decoded with a given row.
pub fn compare_with(batch: &Batch, rows: Vec<Value>) -> Result<Comparison, StoreError> {
    let mut found = Comparison::default();
    let mut given: HashMap<String, Value> = HashMap::new();
    for row in rows {
        let address = row.get("address").and_then(Value::as_str).map(str::to_owned);
        given.insert(address.ok_or_else(|| StoreError::corrupt("mirror row", "it has no address"))?, row);
    }
    for_each_kind!(batch, rows => {
        let addresses: Vec<String> = rows.keys().cloned().collect();
        let stored = addresses.iter().filter_map(|address| given.remove(address)).collect();
        compare_chunk(rows, &addresses, stored, &mut found)?;
    });
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
        let (revision, row_revision) = (read.version().0, stored.get(address).map(|row| row.version().0));
        let columns = match stored.get(address) {
            None => Vec::new(),
            Some(stored) if stored.version().0 > revision => {
                found.newer_in_mirror = found.newer_in_mirror.saturating_add(1);
                let row_revision = stored.version().0;
                found.newer.push(Newer { address: address.clone(), table: R::NAME, revision, row_revision });
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
        let address = address.clone();
        found.differences.push(Difference { address, table: R::NAME, columns, revision, row_revision });
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
