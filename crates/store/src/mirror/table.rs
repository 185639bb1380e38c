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

/// States of accounts as they were read, one element of each list for each account.
#[derive(Clone, Debug, Default)]
pub struct ReadStates {
    pub addresses: Vec<String>,
    pub slots: Vec<i64>,
    pub revisions: Vec<i64>,
    pub hashes: Vec<Vec<u8>>,
}

/// An account that was read in another state than the mirror shows.
#[derive(Clone, Debug)]
pub struct Differs {
    pub address: String,
    /// An upsert replaces the stored row. Otherwise the row has a newer revision, and was stored at an earlier slot:
    /// the account was opened again, or its newer state was dropped with a fork.
    pub replaces: bool,
}

/// The row type of a mirror table, with the statements on that table. [`mirror_table!`] implements it.
pub trait MirrorTable: MirrorRow + DeserializeOwned {
    const NAME: &'static str;

    /// Writes rows, a JSON array whose members are the table's columns and `data_hash`. A row replaces the stored one
    /// only if its revision is newer, or if its bytes differ at a later slot. The row of a closed account starts over
    /// if it was read after the closing: an address can be used again, and its revision then starts again. A state
    /// that is not later than `after_slot` changes nothing.
    fn upsert(connection: &mut PgConnection, rows: &Value) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Compares states that were read with the stored rows, and changes nothing.
    fn differing(pool: &PgPool, read: &ReadStates) -> impl Future<Output = Result<Vec<Differs>, StoreError>> + Send;

    /// Addresses after `after` of open accounts whose row was stored before `slot`, in their order.
    fn open_before(
        pool: &PgPool,
        after: &str,
        slot: i64,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Open accounts.
    fn count_open(pool: &PgPool) -> impl Future<Output = Result<i64, StoreError>> + Send;

    /// Makes rows, whose bytes are not those that were read at `slot`, older than every other state, so that the next
    /// upsert replaces them. States up to the row's slot are not accepted again.
    fn demote(
        connection: &mut PgConnection,
        addresses: &[String],
        hashes: &[Vec<u8>],
        slot: i64,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// The same for rows that an audit found to be wrong, whatever their hash and slot: they still have the revisions that
    /// they were found with.
    fn demote_altered(
        connection: &mut PgConnection,
        addresses: &[String],
        revisions: &[i64],
        slot: i64,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Deletes rows of accounts that were never finalized, unless they were stored after `slot`.
    fn delete_never_final(
        connection: &mut PgConnection,
        addresses: &[String],
        slot: i64,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// The rows of open accounts, as JSON.
    fn stored(pool: &PgPool, addresses: &[String]) -> impl Future<Output = Result<Vec<Value>, StoreError>> + Send;

    /// Marks rows that were read at `slot` or before. Returns their addresses.
    fn mark_closed(
        connection: &mut PgConnection,
        addresses: &[String],
        slot: i64,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// Sets slots after `most` to `to`. Returns how many rows had one.
    fn take_back_slots(
        connection: &mut PgConnection,
        most: i64,
        to: i64,
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
                    "INSERT INTO " + $table + " AS t (address, slot, revision, data_hash" $(+ ", " + $column)+ $(+ ", " + $dropped)*
                         + $names + ")
                     SELECT r.address, r.slot, r.revision, r.data_hash" $(+ ", r." + $column)+ $(+ ", r." + $dropped)* + $values + "
                     FROM jsonb_populate_recordset(NULL::" + $table + ", $1) r" + $join + "
                     ORDER BY r.address
                     ON CONFLICT (address) DO UPDATE SET
                         slot = excluded.slot, revision = excluded.revision, data_hash = excluded.data_hash,
                         after_slot = CASE WHEN excluded.slot > t.closed_at_slot THEN t.closed_at_slot
                                      ELSE t.after_slot END,
                         closed_at_slot = CASE WHEN excluded.slot > t.closed_at_slot THEN NULL
                                          ELSE t.closed_at_slot END,
                         observed_at = now()" $(+ ", " + $column + " = excluded." + $column)+
                        $(+ ", " + $dropped + " = CASE WHEN " + $same + " THEN COALESCE(excluded." + $dropped + ", t."
                            + $dropped + ") ELSE excluded." + $dropped + " END")* + $update + "
                     WHERE (t.after_slot IS NULL OR excluded.slot > t.after_slot)
                         AND (excluded.revision > t.revision
                              OR excluded.revision = t.revision AND excluded.slot > t.slot
                                 AND excluded.data_hash IS DISTINCT FROM t.data_hash
                              OR excluded.slot > t.closed_at_slot)",
                    rows,
                );
                Ok(done.execute(connection).await?.rows_affected())
            }

            async fn differing(
                pool: &sqlx::PgPool,
                read: &$crate::mirror::table::ReadStates,
            ) -> Result<Vec<$crate::mirror::table::Differs>, $crate::error::StoreError> {
                // OFFSET 0: each row is read by its key. Without statistics, a plain join reads the whole table.
                let rows = sqlx::query_as!(
                    $crate::mirror::table::Differs,
                    "SELECT d.address AS \"address!\", d.replaces AS \"replaces!\" FROM (
                         SELECT r.address,
                                t.address IS NULL
                                    OR (t.after_slot IS NULL OR r.slot > t.after_slot)
                                       AND (r.revision > t.revision
                                            OR r.revision = t.revision AND r.slot > t.slot
                                               AND r.data_hash IS DISTINCT FROM t.data_hash
                                            OR COALESCE(r.slot > t.closed_at_slot, false)) AS replaces,
                                t.revision > r.revision AND t.slot < r.slot AND t.closed_at_slot IS NULL AS ahead
                         FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[])
                             AS r (address, slot, revision, data_hash)
                         LEFT JOIN LATERAL (SELECT * FROM " + $table + " s WHERE s.address = r.address OFFSET 0) t
                             ON true) d
                     WHERE d.replaces OR d.ahead",
                    &read.addresses,
                    &read.slots,
                    &read.revisions,
                    &read.hashes,
                );
                Ok(rows.fetch_all(pool).await?)
            }

            async fn open_before(
                pool: &sqlx::PgPool,
                after: &str,
                slot: i64,
            ) -> Result<Vec<String>, $crate::error::StoreError> {
                let rows = sqlx::query_scalar!(
                    "SELECT address FROM " + $table + "
                     WHERE address > $1 AND closed_at_slot IS NULL AND slot < $2 ORDER BY address LIMIT 5000",
                    after,
                    slot,
                );
                Ok(rows.fetch_all(pool).await?)
            }

            async fn count_open(pool: &sqlx::PgPool) -> Result<i64, $crate::error::StoreError> {
                let count = sqlx::query_scalar!(
                    "SELECT count(*) AS \"count!\" FROM " + $table + " WHERE closed_at_slot IS NULL"
                );
                Ok(count.fetch_one(pool).await?)
            }

            async fn demote(
                connection: &mut sqlx::PgConnection,
                addresses: &[String],
                hashes: &[Vec<u8>],
                slot: i64,
            ) -> Result<u64, $crate::error::StoreError> {
                let demoted = sqlx::query!(
                    "UPDATE " + $table + " t
                     SET revision = -1, data_hash = NULL, after_slot = LEAST(t.slot, $3::bigint - 1)
                     FROM unnest($1::text[], $2::bytea[]) AS r (address, data_hash)
                     WHERE t.address = r.address AND t.data_hash IS DISTINCT FROM r.data_hash AND t.slot <= $3
                         AND t.closed_at_slot IS NULL",
                    addresses,
                    hashes,
                    slot,
                );
                Ok(demoted.execute(connection).await?.rows_affected())
            }

            async fn demote_altered(
                connection: &mut sqlx::PgConnection,
                addresses: &[String],
                revisions: &[i64],
                slot: i64,
            ) -> Result<u64, $crate::error::StoreError> {
                let demoted = sqlx::query!(
                    "UPDATE " + $table + " t
                     SET revision = -1, data_hash = NULL, after_slot = LEAST(t.slot, $3::bigint - 1)
                     FROM unnest($1::text[], $2::bigint[]) AS r (address, revision)
                     WHERE t.address = r.address AND t.revision = r.revision AND t.closed_at_slot IS NULL",
                    addresses,
                    revisions,
                    slot,
                );
                Ok(demoted.execute(connection).await?.rows_affected())
            }

            async fn delete_never_final(
                connection: &mut sqlx::PgConnection,
                addresses: &[String],
                slot: i64,
            ) -> Result<u64, $crate::error::StoreError> {
                let deleted = sqlx::query!(
                    "DELETE FROM " + $table + " t WHERE t.address = ANY($1) AND t.slot <= $2
                         AND NOT EXISTS (SELECT FROM mirror_final_accounts f WHERE f.address = t.address)",
                    addresses,
                    slot,
                );
                Ok(deleted.execute(connection).await?.rows_affected())
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
            ) -> Result<Vec<String>, $crate::error::StoreError> {
                let closed = sqlx::query_scalar!(
                    "UPDATE " + $table + " SET closed_at_slot = $2, observed_at = now()
                     WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2 RETURNING address",
                    addresses,
                    slot,
                );
                Ok(closed.fetch_all(connection).await?)
            }

            async fn take_back_slots(
                connection: &mut sqlx::PgConnection,
                most: i64,
                to: i64,
            ) -> Result<u64, $crate::error::StoreError> {
                let taken_back = sqlx::query!(
                    "UPDATE " + $table + " SET
                         slot = CASE WHEN slot > $1 THEN $2 ELSE slot END,
                         after_slot = CASE WHEN after_slot > $1 THEN $2 ELSE after_slot END,
                         closed_at_slot = CASE WHEN closed_at_slot > $1 THEN $2 ELSE closed_at_slot END
                     WHERE slot > $1 OR after_slot > $1 OR closed_at_slot > $1",
                    most,
                    to,
                );
                Ok(taken_back.execute(connection).await?.rows_affected())
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

/// BLAKE3 of each account's bytes, by address.
pub type Hashes = HashMap<String, [u8; 32]>;

/// Writes rows. Returns how many changed.
pub async fn write<R: MirrorTable + Sync>(
    connection: &mut PgConnection,
    rows: &Rows<R>,
    hashes: &Hashes,
) -> Result<u64, StoreError> {
    let mut changed: u64 = 0;
    for chunk in chunks(rows, hashes)? {
        changed = changed.saturating_add(R::upsert(connection, &chunk).await?);
    }
    Ok(changed)
}

/// The JSON arrays of the statements, in the order of the addresses: so concurrent writers lock rows in the same order.
fn chunks<R: MirrorRow>(rows: &Rows<R>, hashes: &Hashes) -> Result<Vec<Value>, StoreError> {
    let mut sorted: Vec<&R> = rows.values().collect();
    sorted.sort_by(|a, b| a.address().cmp(b.address()));
    sorted.chunks(ROWS_PER_STATEMENT).map(|chunk| chunk.iter().map(|row| with_hash(*row, hashes)).collect()).collect()
}

fn with_hash<R: MirrorRow>(row: &R, hashes: &Hashes) -> Result<Value, StoreError> {
    let mut value = serde_json::to_value(row).map_err(|error| StoreError::corrupt("row", error))?;
    if let (Some(members), Some(hash)) = (value.as_object_mut(), hashes.get(row.address())) {
        members.insert("data_hash".to_owned(), Value::String(format!("\\x{}", hex::encode(hash))));
    }
    Ok(value)
}

/// The states of some of the rows, for [`MirrorTable::differing`].
pub fn states<R: MirrorRow>(rows: &Rows<R>, hashes: &Hashes) -> ReadStates {
    let mut states = ReadStates::default();
    for (address, row) in rows {
        let Some(hash) = hashes.get(address) else { continue };
        let (revision, slot) = row.version();
        states.addresses.push(address.clone());
        states.slots.push(slot);
        states.revisions.push(revision);
        states.hashes.push(hash.to_vec());
    }
    states
}
