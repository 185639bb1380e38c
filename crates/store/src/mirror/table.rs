//! What the mirror does with each of its tables.

use std::{collections::HashMap, future::Future};

use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

use super::row::MirrorRow;
use crate::error::StoreError;

/// Rows per statement: enough to make the round trip cheap, few enough to keep locks short.
const ROWS_PER_STATEMENT: usize = 1_000;

/// Rows by address.
pub type Rows<R> = HashMap<String, R>;

/// The row type of a mirror table, with the statements on that table. [`mirror_table!`] implements it.
pub trait MirrorTable: MirrorRow + DeserializeOwned {
    const NAME: &'static str;

    /// Writes rows, a JSON array whose members are the table's columns. A row replaces the stored one only if it is
    /// newer: revision first, then slot. The row of a closed account may start over: an address can be used again, and
    /// its revision then starts again.
    fn upsert(connection: &mut PgConnection, rows: &Value) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// The rows of open accounts, as JSON.
    fn stored(pool: &PgPool, addresses: &[String]) -> impl Future<Output = Result<Vec<Value>, StoreError>> + Send;

    /// Marks rows that were read at `slot` or before.
    fn mark_closed(
        connection: &mut PgConnection,
        addresses: &[String],
        slot: i64,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Deletes the rows in `lost`, and those with a later revision than `revisions` has for their address.
    fn delete_newer(
        connection: &mut PgConnection,
        lost: &[String],
        addresses: &[String],
        revisions: &[i64],
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;
}

/// Implements [`MirrorTable`] for a row type. `columns` are the members of the row after `address`, `slot` and
/// `revision`.
///
/// `dropped` is about columns that the program drops when the account's work ends: their names, a function that takes
/// their values over from another row, and SQL that is true if the stored row `t` and the new row `excluded` are of
/// the same work.
///
/// `derived` is SQL for columns that are not in the account: their names, their values from the account's row `r`, a
/// join for these values, and what an update of the stored row `t` does.
macro_rules! mirror_table {
    ($row:ident, $table:tt, columns: [$($column:tt)+]) => {
        mirror_table!(
            $row, $table, columns: [$($column)+], derived: { names: "", values: "", join: "", update: "" }
        );
    };
    ($row:ident, $table:tt, columns: [$($column:tt)+], derived: $derived:tt) => {
        mirror_table!(
            $row, $table, columns: [$($column)+],
            dropped: { columns: [], keep: |_: &mut $row, _: &$row| {}, same: "" },
            derived: $derived
        );
    };
    (
        $row:ident, $table:tt, columns: [$($column:tt)+],
        dropped: { columns: [$($dropped:tt)*], keep: $keep:expr, same: $same:tt },
        derived: { names: $names:tt, values: $values:tt, join: $join:tt, update: $update:tt }
    ) => {
        impl $crate::mirror::row::MirrorRow for $row {
            const DROPPED: &'static [&'static str] = &[$($dropped),*];

            fn address(&self) -> &str {
                &self.address
            }

            fn version(&self) -> (i64, i64) {
                (self.revision, self.slot)
            }

            fn keep_dropped(&mut self, other: &Self) {
                let keep: fn(&mut Self, &Self) = $keep;
                keep(self, other);
            }
        }

        impl $crate::mirror::table::MirrorTable for $row {
            const NAME: &'static str = $table;

            async fn upsert(
                connection: &mut sqlx::PgConnection,
                rows: &serde_json::Value,
            ) -> Result<u64, $crate::error::StoreError> {
                let done = sqlx::query!(
                    "INSERT INTO " + $table + " AS t (address, slot, revision" $(+ ", " + $column)+ $(+ ", " + $dropped)*
                         + $names + ")
                     SELECT r.address, r.slot, r.revision" $(+ ", r." + $column)+ $(+ ", r." + $dropped)* + $values + "
                     FROM jsonb_populate_recordset(NULL::" + $table + ", $1) r" + $join + "
                     ORDER BY r.address
                     ON CONFLICT (address) DO UPDATE SET
                         slot = excluded.slot, revision = excluded.revision, closed_at_slot = NULL,
                         observed_at = now()" $(+ ", " + $column + " = excluded." + $column)+
                        $(+ ", " + $dropped + " = CASE WHEN " + $same + " THEN COALESCE(excluded." + $dropped + ", t."
                            + $dropped + ") ELSE excluded." + $dropped + " END")* + $update + "
                     WHERE (excluded.revision, excluded.slot) > (t.revision, t.slot)
                         OR excluded.slot > t.closed_at_slot",
                    rows,
                );
                Ok(done.execute(connection).await?.rows_affected())
            }

            async fn stored(
                pool: &sqlx::PgPool,
                addresses: &[String],
            ) -> Result<Vec<serde_json::Value>, $crate::error::StoreError> {
                let rows = sqlx::query_scalar!(
                    "SELECT to_jsonb(t) AS \"row!\" FROM " + $table
                        + " t WHERE address = ANY($1) AND closed_at_slot IS NULL",
                    addresses,
                );
                Ok(rows.fetch_all(pool).await?)
            }

            async fn mark_closed(
                connection: &mut sqlx::PgConnection,
                addresses: &[String],
                slot: i64,
            ) -> Result<u64, $crate::error::StoreError> {
                let closed = sqlx::query!(
                    "UPDATE " + $table + " SET closed_at_slot = $2, observed_at = now()
                     WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
                    addresses,
                    slot,
                );
                Ok(closed.execute(connection).await?.rows_affected())
            }

            async fn delete_newer(
                connection: &mut sqlx::PgConnection,
                lost: &[String],
                addresses: &[String],
                revisions: &[i64],
            ) -> Result<u64, $crate::error::StoreError> {
                let deleted = sqlx::query!(
                    "DELETE FROM " + $table + " t WHERE address = ANY($1) OR EXISTS (
                         SELECT FROM unnest($2::text[], $3::bigint[]) AS s (a, r)
                         WHERE s.a = t.address AND s.r < t.revision)",
                    lost,
                    addresses,
                    revisions,
                );
                Ok(deleted.execute(connection).await?.rows_affected())
            }
        }
    };
}

pub(super) use mirror_table;

/// Writes rows. Returns how many changed.
pub async fn write<R: MirrorTable + Sync>(connection: &mut PgConnection, rows: &Rows<R>) -> Result<u64, StoreError> {
    let mut changed: u64 = 0;
    for chunk in chunks(rows)? {
        changed = changed.saturating_add(R::upsert(connection, &chunk).await?);
    }
    Ok(changed)
}

/// The JSON arrays of the statements, in the order of the addresses: so concurrent writers lock rows in the same order.
fn chunks<R: MirrorRow>(rows: &Rows<R>) -> Result<Vec<Value>, StoreError> {
    let mut sorted: Vec<&R> = rows.values().collect();
    sorted.sort_by(|a, b| a.address().cmp(b.address()));
    sorted
        .chunks(ROWS_PER_STATEMENT)
        .map(|chunk| serde_json::to_value(chunk).map_err(|error| StoreError::corrupt("row", error)))
        .collect()
}
