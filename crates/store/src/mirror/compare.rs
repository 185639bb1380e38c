//! Compares accounts with their rows, column by column, for the audit.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};
use sqlx::PgPool;

use super::{batch::Batch, kinds::TABLES, row::AccountRow};
use crate::error::StoreError;

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
pub async fn compare(pool: &PgPool, batch: &Batch) -> Result<Comparison, StoreError> {
    let mut found = Comparison::default();
    for table in TABLES {
        let read: Vec<&AccountRow> = batch.of(table).collect();
        for read in read.chunks(ROWS_PER_QUERY) {
            let addresses: Vec<String> = read.iter().map(|row| row.address.clone()).collect();
            let stored = sqlx::query_scalar!(
                r#"SELECT row AS "row!" FROM mirror_rows
                   WHERE name = $1 AND address = ANY($2) AND closed_at_slot IS NULL"#,
                table.name,
                &addresses,
            );
            let stored = by_address(stored.fetch_all(pool).await?)?;
            read.iter().try_for_each(|row| found.add(row, stored.get(&row.address)))?;
        }
    }
    Ok(found)
}

/// Compares every account of the batch that can be decoded with a given row.
pub fn compare_with(batch: &Batch, rows: Vec<Value>) -> Result<Comparison, StoreError> {
    let (given, mut found) = (by_address(rows)?, Comparison::default());
    batch.rows.values().try_for_each(|row| found.add(row, given.get(&row.address)))?;
    Ok(found)
}

fn by_address(rows: Vec<Value>) -> Result<HashMap<String, Map<String, Value>>, StoreError> {
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
    fn add(&mut self, read: &AccountRow, stored: Option<&Map<String, Value>>) -> Result<(), StoreError> {
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
