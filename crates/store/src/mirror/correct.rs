//! What the mirror shows of accounts, and corrections that may go back: a fork of the chain was dropped, or an address
//! was used again.

use std::collections::HashMap;

use solana_pubkey::Pubkey;
use sqlx::PgPool;

use super::{
    batch::{Batch, for_each_kind, for_each_table},
    callers, quarantine,
    table::{self, MirrorTable},
    wallets, write,
};
use crate::{
    convert::{amount_to_db, fixed_bytes, pubkey},
    error::StoreError,
    transaction,
};

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
        r#"SELECT a.address AS "address!", t.data_hash, t.closed_at_slot FROM unnest($1::text[]) AS a (address)
           CROSS JOIN LATERAL (SELECT * FROM mirror_states s WHERE s.address = a.address OFFSET 0) t"#,
        &addresses,
    )
    .fetch_all(pool)
    .await?;
    for row in rows {
        let data_hash = row.data_hash.map(|hash| fixed_bytes("data hash", &hash)).transpose()?;
        let shown = Shown { open: row.closed_at_slot.is_none(), data_hash };
        found.entry(pubkey("account address", &row.address)?).or_default().push(shown);
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
/// the read did not find, rows of accounts that were finalized once are closed, and all others are deleted. Rows that
/// were stored after `slot` stay as they are.
pub async fn correct(pool: &PgPool, read: &Batch, gone: &[Pubkey], slot: u64) -> Result<Corrected, StoreError> {
    let gone: Vec<String> = gone.iter().map(Pubkey::to_string).collect();
    let at = amount_to_db("slot", slot)?;
    let mut corrected = Corrected::default();
    let mut transaction = transaction::begin(pool).await?;
    for_each_kind!(read, rows => demote(&mut transaction, rows, &read.hashes, at).await?);
    corrected.replaced = write::apply(&mut transaction, read).await?;
    if !gone.is_empty() {
        for_each_table!(Row => {
            let deleted = Row::delete_never_final(&mut transaction, &gone, at).await?;
            let closed = Row::mark_closed(&mut transaction, &gone, at).await?.len();
            corrected.deleted = corrected.deleted.saturating_add(deleted);
            corrected.closed = corrected.closed.saturating_add(u64::try_from(closed).unwrap_or(u64::MAX));
        });
        quarantine::remove(&mut transaction, &gone, at).await?;
        callers::count(&mut transaction).await?;
        wallets::count(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(corrected)
}

/// Makes rows that an audit found to be wrong equal to the accounts as they were read at `slot`, though their hashes may
/// fit. `found` has the revision of each wrong row; a row that has another one by now was written meanwhile and stays.
pub async fn rewrite(pool: &PgPool, read: &Batch, found: &HashMap<String, i64>, slot: u64) -> Result<u64, StoreError> {
    let at = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    for_each_kind!(read, rows => demote_altered(&mut transaction, rows, found, at).await?);
    let written = write::apply(&mut transaction, read).await?;
    transaction.commit().await?;
    Ok(written)
}

async fn demote_altered<R: MirrorTable>(
    connection: &mut sqlx::PgConnection,
    rows: &table::Rows<R>,
    found: &HashMap<String, i64>,
    slot: i64,
) -> Result<(), StoreError> {
    let (addresses, revisions): (Vec<String>, Vec<i64>) =
        rows.keys().filter_map(|address| Some((address.clone(), *found.get(address)?))).unzip();
    if !addresses.is_empty() {
        R::demote_altered(connection, &addresses, &revisions, slot).await?;
    }
    Ok(())
}

async fn demote<R: MirrorTable>(
    connection: &mut sqlx::PgConnection,
    rows: &table::Rows<R>,
    hashes: &table::Hashes,
    slot: i64,
) -> Result<(), StoreError> {
    let states = table::states(rows, hashes);
    if !states.addresses.is_empty() {
        R::demote(connection, &states.addresses, &states.hashes, slot).await?;
    }
    Ok(())
}
