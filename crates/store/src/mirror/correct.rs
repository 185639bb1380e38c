//! What the mirror shows of accounts, and corrections that may go back: a fork of the chain was dropped, or an address
//! was used again.

use std::collections::HashMap;

use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgPool};

use super::{accounts, batch::Batch, quarantine, totals, write};
use crate::{columns::Base58, convert::amount_to_db, error::StoreError, transaction};

/// What the mirror shows of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub open: bool,
    /// BLAKE3 of the bytes; `None` in a row of the version before.
    pub data_hash: Option<[u8; 32]>,
}

/// What the mirror shows of these accounts. Accounts that it never had are missing.
pub async fn shown(pool: &PgPool, addresses: &[Pubkey]) -> Result<HashMap<Pubkey, Vec<Shown>>, StoreError> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let mut found: HashMap<Pubkey, Vec<Shown>> = HashMap::new();
    let rows = sqlx::query!(
        r#"SELECT a.address AS "address!: Base58", t.closed_at_slot IS NULL AS "open!", t.data_hash AS "data_hash: [u8; 32]"
           FROM unnest($1::text[]) AS a (address)
           CROSS JOIN LATERAL (SELECT * FROM mirror_states s WHERE s.address = a.address OFFSET 0) t"#,
        &addresses,
    )
    .fetch_all(pool)
    .await?;
    for row in rows {
        found.entry(row.address.into()).or_default().push(Shown { open: row.open, data_hash: row.data_hash });
    }
    Ok(found)
}

/// What [`correct`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corrected {
    /// Rows that were replaced or added.
    pub replaced: u64,
    pub closed: u64,
    /// Rows of accounts that were never finalized and do not exist.
    pub deleted: u64,
}

/// Makes rows equal to the accounts as they were read at `slot`, also if the rows have newer revisions. Of `gone`, which
/// the read did not find, rows of accounts that were finalized once are accounts, and all others are deleted. Rows that
/// were stored after `slot` stay as they are.
pub async fn correct(pool: &PgPool, read: &Batch, gone: &[Pubkey], slot: u64) -> Result<Corrected, StoreError> {
    let gone: Vec<String> = gone.iter().map(Pubkey::to_string).collect();
    let at = amount_to_db("slot", slot)?;
    let mut corrected = Corrected::default();
    let mut transaction = transaction::begin(pool).await?;
    let (addresses, hashes): (Vec<String>, Vec<Vec<u8>>) =
        read.rows.values().map(|row| (row.address.clone(), row.data_hash.to_vec())).unzip();
    lock(&mut transaction, &addresses).await?;
    // Rows with other bytes become older than every other state, so that the upsert replaces them. States up to the row's
    // slot are not accepted again.
    sqlx::query!(
        "UPDATE mirror_accounts t SET revision = -1, data_hash = NULL, after_slot = LEAST(t.slot, $3::bigint - 1)
         FROM unnest($1::text[], $2::bytea[]) AS r (address, data_hash)
         WHERE t.address = r.address AND t.data_hash IS DISTINCT FROM r.data_hash AND t.slot <= $3
             AND t.closed_at_slot IS NULL",
        &addresses,
        &hashes,
        at,
    )
    .execute(&mut *transaction)
    .await?;
    corrected.replaced = write::apply(&mut transaction, read).await?;
    if !gone.is_empty() {
        let never_final = sqlx::query_scalar!(
            "SELECT address FROM mirror_accounts t WHERE address = ANY($1) AND slot <= $2
                 AND NOT EXISTS (SELECT FROM mirror_final_accounts f WHERE f.address = t.address)
             ORDER BY tableoid, address FOR UPDATE",
            &gone,
            at,
        )
        .fetch_all(&mut *transaction)
        .await?;
        corrected.deleted = accounts::delete(&mut transaction, &never_final).await?;
        corrected.closed = accounts::mark(&mut transaction, &gone, at).await?;
        quarantine::remove(&mut transaction, &gone, at).await?;
        totals::count(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(corrected)
}

/// Makes rows that an audit found to be wrong equal to the accounts as they were read at `slot`, though their hashes may
/// fit. `found` has the revision of each wrong row; a row that has another one by now was written meanwhile and stays.
pub async fn rewrite(pool: &PgPool, read: &Batch, found: &HashMap<String, i64>, slot: u64) -> Result<u64, StoreError> {
    let at = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    let (addresses, revisions): (Vec<String>, Vec<i64>) =
        read.rows.keys().filter_map(|address| Some((address.clone(), *found.get(address)?))).unzip();
    lock(&mut transaction, &addresses).await?;
    sqlx::query!(
        "UPDATE mirror_accounts t SET revision = -1, data_hash = NULL, after_slot = LEAST(t.slot, $3::bigint - 1)
         FROM unnest($1::text[], $2::bigint[]) AS r (address, revision)
         WHERE t.address = r.address AND t.revision = r.revision AND t.closed_at_slot IS NULL",
        &addresses,
        &revisions,
        at,
    )
    .execute(&mut *transaction)
    .await?;
    let written = write::apply(&mut transaction, read).await?;
    transaction.commit().await?;
    Ok(written)
}

/// Locks rows in the order in which batches lock them: by tables as they were created, then by addresses.
async fn lock(connection: &mut PgConnection, addresses: &[String]) -> Result<(), StoreError> {
    sqlx::query!(
        "SELECT address FROM mirror_accounts WHERE address = ANY($1) ORDER BY tableoid, address FOR NO KEY UPDATE",
        addresses,
    )
    .fetch_all(connection)
    .await?;
    Ok(())
}
