//! Closed accounts. Most streams do not report them: a snapshot does not have them, and further reads confirm it.

use solana_pubkey::Pubkey;
use sqlx::PgPool;

use super::{batch::for_each_table, quarantine, table::MirrorTable};
use crate::{
    convert::{amount_to_db, pubkey},
    error::StoreError,
    transaction,
};

/// Accounts of one table that a snapshot does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub table: &'static str,
    pub addresses: Vec<Pubkey>,
    /// Accounts of the table that the mirror shows as open, if any are missing.
    pub open: u64,
}

/// Accounts that are open in the mirror, were stored before `slot`, and are not in a snapshot of that slot: `seen` says
/// whether the snapshot has an account. A read has to confirm that they are closed. Reads each table in parts.
pub async fn missing(pool: &PgPool, slot: u64, seen: impl Fn(&Pubkey) -> bool) -> Result<Vec<Missing>, StoreError> {
    let mut found = Vec::new();
    for_each_table!(Row => {
        let addresses = missing_rows::<Row>(pool, slot, &seen).await?;
        if !addresses.is_empty() {
            let open = Row::count_open(pool).await?.unsigned_abs();
            found.push(Missing { table: Row::NAME, addresses, open });
        }
    });
    let addresses = quarantine::missing(pool, slot, &seen).await?;
    if !addresses.is_empty() {
        let open = u64::try_from(addresses.len()).unwrap_or(u64::MAX);
        found.push(Missing { table: quarantine::NAME, addresses, open });
    }
    Ok(found)
}

async fn missing_rows<R: MirrorTable>(
    pool: &PgPool,
    slot: u64,
    seen: &impl Fn(&Pubkey) -> bool,
) -> Result<Vec<Pubkey>, StoreError> {
    let slot = amount_to_db("slot", slot)?;
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = R::open_before(pool, &after, slot).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after.clone_from(last);
        for address in &page {
            let address = pubkey("account address", address)?;
            if !seen(&address) {
                found.push(address);
            }
        }
    }
}

/// Marks accounts as closed: a read at `slot` did not find them. Rows that were read later stay as they are. Returns
/// how many were open or in the quarantine.
pub async fn mark_closed(pool: &PgPool, addresses: &[Pubkey], slot: u64) -> Result<u64, StoreError> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let slot = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    let mut closed: usize = 0;
    for_each_table!(Row => {
        closed = closed.saturating_add(Row::mark_closed(&mut transaction, &addresses, slot).await?.len());
    });
    closed = closed.saturating_add(quarantine::remove(&mut transaction, &addresses, slot).await?.len());
    transaction.commit().await?;
    Ok(u64::try_from(closed).unwrap_or(u64::MAX))
}

/// Accounts that the mirror shows as open.
pub async fn open_accounts(pool: &PgPool) -> Result<u64, StoreError> {
    let mut open: u64 = 0;
    for_each_table!(Row => open = open.saturating_add(Row::count_open(pool).await?.unsigned_abs()));
    Ok(open)
}
