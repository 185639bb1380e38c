//! Compares accounts with their rows, column by column: what the audit is made of.

use std::collections::HashMap;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sqlx::PgPool;

use super::{Batch, MirrorRow};
use crate::StoreError;

const ROWS_PER_QUERY: usize = 1_000;

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Accounts whose row says the same in every column.
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

/// Compares every readable account of the batch with its row.
pub async fn compare(pool: &PgPool, batch: &Batch) -> Result<Comparison, StoreError> {
    let mut found = Comparison::default();
    macro_rules! tables {
        ($($field:ident => $table:literal, $query:literal);+ $(;)?) => {
            $(for addresses in batch.$field.keys().cloned().collect::<Vec<String>>().chunks(ROWS_PER_QUERY) {
                let stored = sqlx::query_scalar!($query, addresses).fetch_all(pool).await?;
                compare_rows(&batch.$field, addresses, stored, $table, &mut found)?;
            })+
        };
    }
    tables! {
        configs => "mirror_config",
            r#"SELECT to_jsonb(t) AS "row!" FROM mirror_config t WHERE address = ANY($1) AND closed_at_slot IS NULL"#;
        creators => "mirror_creators",
            r#"SELECT to_jsonb(t) AS "row!" FROM mirror_creators t WHERE address = ANY($1) AND closed_at_slot IS NULL"#;
        agents => "mirror_agents",
            r#"SELECT to_jsonb(t) AS "row!" FROM mirror_agents t WHERE address = ANY($1) AND closed_at_slot IS NULL"#;
        executions => "mirror_executions",
            r#"SELECT to_jsonb(t) AS "row!" FROM mirror_executions t WHERE address = ANY($1) AND closed_at_slot IS NULL"#;
        disputes => "mirror_disputes",
            r#"SELECT to_jsonb(t) AS "row!" FROM mirror_disputes t WHERE address = ANY($1) AND closed_at_slot IS NULL"#;
        grants => "mirror_grants",
            r#"SELECT to_jsonb(t) AS "row!" FROM mirror_grants t WHERE address = ANY($1) AND closed_at_slot IS NULL"#;
    }
    Ok(found)
}

fn compare_rows<R: MirrorRow + DeserializeOwned>(
    read: &HashMap<String, R>,
    addresses: &[String],
    stored: Vec<Value>,
    table: &'static str,
    found: &mut Comparison,
) -> Result<(), StoreError> {
    let stored: HashMap<String, R> = stored
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
        found.differences.push(Difference { address: address.clone(), table, columns });
    }
    Ok(())
}

fn differing_columns<R: MirrorRow>(read: &R, stored: &R) -> Result<Vec<String>, StoreError> {
    let (read, stored) = (members(read)?, members(stored)?);
    // The slot says when a row was read, not what the account holds.
    Ok(read
        .into_iter()
        .filter(|(column, value)| column != "slot" && stored.get(column) != Some(value))
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
