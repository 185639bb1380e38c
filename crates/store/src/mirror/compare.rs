//! Compares accounts with their rows, column by column, for the audit.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::PgPool;

use super::{batch::Batch, row::AccountRow};
use crate::{Result, StoreError};

const ROWS_PER_QUERY: usize = 1_000;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Accounts whose row is equal in every column.
    pub equal: u64,
    /// Accounts whose row claims a later state: they have changed since they were read, or somebody invented the row.
    pub newer: Vec<Difference>,
    /// Accounts whose row is missing, behind or wrong.
    pub differences: Vec<Difference>,
}

/// An account and a row that is not equal to it.
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

impl Difference {
    /// The row is newer than the account.
    pub fn is_ahead(&self) -> bool {
        self.row_revision > Some(self.revision)
    }
}

/// Compares every account of the batch that can be decoded with its row.
pub async fn compare(pool: &PgPool, batch: &Batch) -> Result<Comparison> {
    let mut found = Comparison::default();
    for addresses in batch.readable().chunks(ROWS_PER_QUERY) {
        let stored = sqlx::query_scalar!(
            r#"SELECT row AS "row!" FROM mirror_rows WHERE address = ANY($1) AND closed_at_slot IS NULL"#,
            addresses,
        );
        let stored = by_address(stored.fetch_all(pool).await?)?;
        let mut read = addresses.iter().filter_map(|address| batch.rows.get(address));
        read.try_for_each(|row| found.add(row, stored.get(&row.address)))?;
    }
    Ok(found)
}

/// Compares every account of the batch that can be decoded with a given row.
pub fn compare_with(batch: &Batch, rows: Vec<Value>) -> Result<Comparison> {
    let (given, mut found) = (by_address(rows)?, Comparison::default());
    batch.rows.values().try_for_each(|row| found.add(row, given.get(&row.address)))?;
    Ok(found)
}

fn by_address(rows: Vec<Value>) -> Result<HashMap<String, Map<String, Value>>> {
    rows.into_iter()
        .map(|row| {
            let columns: Map<String, Value> =
                serde_json::from_value(row).map_err(|error| StoreError::corrupt("mirror row", error))?;
            let address = columns.get("address").and_then(Value::as_str).map(str::to_owned);
            Ok((address.ok_or_else(|| StoreError::corrupt("mirror row", "it has no address"))?, columns))
        })
        .collect()
}

impl Comparison {
    fn add(&mut self, read: &AccountRow, stored: Option<&Map<String, Value>>) -> Result<()> {
        let (address, table, revision) = (read.address.clone(), read.table.name, read.number("revision"));
        let Some(stored) = stored else {
            self.differences.push(Difference { address, table, columns: Vec::new(), revision, row_revision: None });
            return Ok(());
        };
        let row_revision = stored.get("revision").and_then(Value::as_i64);
        let row_revision = row_revision.ok_or_else(|| StoreError::corrupt("mirror row", &address))?;
        let columns = differing_columns(read, stored);
        let difference = Difference { address, table, columns, revision, row_revision: Some(row_revision) };
        if difference.is_ahead() {
            self.newer.push(difference);
        } else if difference.columns.is_empty() {
            self.equal = self.equal.saturating_add(1);
        } else {
            self.differences.push(difference);
        }
        Ok(())
    }
}

fn differing_columns(read: &AccountRow, stored: &Map<String, Value>) -> Vec<String> {
    // When the account was read is not part of it, and the hash follows from all other columns.
    let compared = |column: &str| !["slot", "data_hash"].contains(&column);
    let columns = read.columns.iter().filter(|(column, value)| compared(column) && stored.get(*column) != Some(*value));
    columns.map(|(column, _)| column.clone()).collect()
}
