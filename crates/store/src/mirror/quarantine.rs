//! Accounts of the program whose bytes cannot be decoded, or whose row the database refuses. `mirror_quarantine`.

use std::collections::HashMap;

use crtx_protocol::{mirror_digest::data_hash, text::without_nul};
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgPool};

use super::row::AccountRow;
use crate::{Result, columns::Base58, convert::amount_to_db, database::run};

pub const NAME: &str = "mirror_quarantine";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRow {
    pub address: String,
    pub slot: i64,
    pub data: Vec<u8>,
    pub error: String,
}

/// Removes accounts that can be decoded as they were read.
pub async fn release(connection: &mut PgConnection, readable: impl Iterator<Item = &AccountRow>) -> Result<()> {
    let (addresses, slots): (Vec<String>, Vec<i64>) =
        readable.map(|row| (row.address.clone(), row.number("slot"))).unzip();
    let statement = sqlx::query!(
        "DELETE FROM mirror_quarantine q USING unnest($1::text[], $2::bigint[]) AS r (address, slot)
         WHERE q.address = r.address AND q.slot <= r.slot",
        &addresses,
        &slots,
    );
    run(connection, statement).await
}

/// Keeps these accounts. Equal bytes write nothing.
pub async fn write(connection: &mut PgConnection, rows: impl Iterator<Item = &QuarantineRow>) -> Result<()> {
    for row in rows {
        let statement = sqlx::query!(
            "INSERT INTO mirror_quarantine AS t (address, slot, data, error, data_hash) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (address) DO UPDATE SET
                 slot = excluded.slot, data = excluded.data, error = excluded.error,
                 data_hash = excluded.data_hash, observed_at = now()
             WHERE excluded.slot >= t.slot
                 AND (excluded.data_hash IS DISTINCT FROM t.data_hash OR excluded.error <> t.error
                      OR t.observed_at < now() - interval '10 minutes')",
            row.address,
            row.slot,
            row.data,
            without_nul(&row.error),
            &data_hash(&row.data),
        );
        statement.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Removes accounts that a read at `slot` did not find. Returns how many were there.
pub async fn remove(connection: &mut PgConnection, addresses: &[String], slot: i64) -> Result<u64> {
    let removed = sqlx::query!("DELETE FROM mirror_quarantine WHERE address = ANY($1) AND slot <= $2", addresses, slot);
    Ok(removed.execute(connection).await?.rows_affected())
}

/// The quarantined ones of these accounts, with the hash of bytes that were quarantined a moment ago: they need no new
/// attempt.
pub async fn hashes(pool: &PgPool, addresses: &[String]) -> Result<HashMap<String, Option<[u8; 32]>>> {
    let rows = sqlx::query!(
        r#"SELECT address, CASE WHEN observed_at > now() - interval '10 minutes' THEN data_hash END AS "hash: [u8; 32]"
           FROM mirror_quarantine WHERE address = ANY($1)"#,
        addresses,
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(|row| (row.address, row.hash)).collect())
}

/// Quarantined accounts that a snapshot of `slot` does not have.
pub async fn missing(pool: &PgPool, slot: u64, seen: impl Fn(&Pubkey) -> bool) -> Result<Vec<Pubkey>> {
    let rows = sqlx::query_scalar!(
        r#"SELECT address AS "address: Base58" FROM mirror_quarantine WHERE slot < $1 ORDER BY address LIMIT 10000"#,
        amount_to_db("slot", slot)?
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(Pubkey::from).filter(|address| !seen(address)).collect())
}
