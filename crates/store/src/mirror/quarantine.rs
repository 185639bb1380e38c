//! Accounts of the program whose bytes cannot be decoded. `mirror_quarantine`.

use std::collections::HashMap;

use crtx_protocol::text::without_nul;
use sqlx::PgConnection;

use super::row::Bytes;
use crate::error::StoreError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRow {
    pub address: String,
    pub slot: i64,
    pub data: Bytes,
    pub error: String,
}

/// Keeps these accounts, and removes those in `readable`, which can be decoded now.
pub async fn write(
    connection: &mut PgConnection,
    rows: &HashMap<String, QuarantineRow>,
    readable: &[String],
) -> Result<(), StoreError> {
    for row in rows.values() {
        sqlx::query!(
            "INSERT INTO mirror_quarantine AS t (address, slot, data, error) VALUES ($1, $2, $3, $4)
             ON CONFLICT (address) DO UPDATE SET
                 slot = excluded.slot, data = excluded.data, error = excluded.error, observed_at = now()
             WHERE excluded.slot >= t.slot",
            row.address,
            row.slot,
            row.data.0,
            without_nul(&row.error),
        )
        .execute(&mut *connection)
        .await?;
    }
    let quarantined = sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM mirror_quarantine) AS "any!""#)
        .fetch_one(&mut *connection)
        .await?;
    if quarantined {
        remove(connection, readable).await?;
    }
    Ok(())
}

pub async fn remove(connection: &mut PgConnection, addresses: &[String]) -> Result<(), StoreError> {
    sqlx::query!("DELETE FROM mirror_quarantine WHERE address = ANY($1)", addresses).execute(connection).await?;
    Ok(())
}
