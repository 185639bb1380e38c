//! Which accounts are open and which are closed, whatever their kind. `mirror_accounts`.
//!
//! Most streams do not report closed accounts: a snapshot does not have them, and further reads confirm it.

use std::collections::BTreeMap;

use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};

use super::quarantine;
use crate::{
    Result,
    columns::{Base58, Count},
    convert::amount_to_db,
    transaction,
};

/// Closed rows that are looked at in one page.
const PAGE: i64 = 1_000;

/// Accounts of one table that a snapshot does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    pub addresses: Vec<Pubkey>,
    /// Accounts of the table that the mirror shows as open.
    pub open: u64,
}

/// Accounts that are open in the mirror, were stored before `slot`, and are not in a snapshot of that slot: `seen` says
/// whether the snapshot has an account. A read has to confirm that they are closed. Reads the rows in parts. Returns them
/// by their tables.
pub async fn missing(pool: &PgPool, slot: u64, seen: impl Fn(&Pubkey) -> bool) -> Result<BTreeMap<String, Missing>> {
    let (mut found, mut after) = (BTreeMap::<String, Missing>::new(), String::new());
    loop {
        let page = sqlx::query!(
            r#"SELECT address AS "address: Base58", tableoid::regclass::text AS "table!" FROM mirror_accounts
               WHERE address > $1 AND closed_at_slot IS NULL AND slot < $2 ORDER BY address LIMIT 5000"#,
            after,
            amount_to_db("slot", slot)?,
        );
        let page = page.fetch_all(pool).await?;
        let Some(last) = page.last() else { break };
        after = Pubkey::from(last.address).to_string();
        for row in page {
            let address = row.address.into();
            if !seen(&address) {
                found.entry(row.table).or_default().addresses.push(address);
            }
        }
    }
    if !found.is_empty() {
        let counts = sqlx::query!(
            r#"SELECT tableoid::regclass::text AS "table!", count(*) AS "count!" FROM mirror_accounts
               WHERE closed_at_slot IS NULL GROUP BY tableoid"#
        );
        for row in counts.fetch_all(pool).await? {
            found.entry(row.table).and_modify(|missing| missing.open = row.count.unsigned_abs());
        }
    }
    let addresses = quarantine::missing(pool, slot, &seen).await?;
    if !addresses.is_empty() {
        let open = u64::try_from(addresses.len()).unwrap_or(u64::MAX);
        found.insert(quarantine::NAME.to_owned(), Missing { addresses, open });
    }
    Ok(found)
}

/// Marks accounts as closed: a read at `slot` did not find them. Rows that were read later stay as they are. Returns
/// how many were open or in the quarantine.
pub async fn mark_closed(pool: &PgPool, addresses: &[Pubkey], slot: u64) -> Result<u64> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let slot = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    let closed = mark(&mut transaction, &addresses, slot).await?;
    let removed = quarantine::remove(&mut transaction, &addresses, slot).await?;
    transaction.commit().await?;
    Ok(closed.saturating_add(removed))
}

/// Marks rows that were read at `slot` or before. Returns how many.
pub(super) async fn mark(connection: &mut PgConnection, addresses: &[String], slot: i64) -> Result<u64> {
    let closed = sqlx::query!(
        "UPDATE mirror_accounts SET closed_at_slot = $2, observed_at = now()
         WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
        addresses,
        slot,
    );
    Ok(closed.execute(connection).await?.rows_affected())
}

/// Deletes rows, each from its own table, whose triggers count what is gone. Returns how many addresses there were.
pub(super) async fn delete(connection: &mut PgConnection, addresses: &[String]) -> Result<u64> {
    if addresses.is_empty() {
        return Ok(0);
    }
    let statement = sqlx::query!(
        "WITH config AS (DELETE FROM mirror_config WHERE address = ANY($1)),
              creators AS (DELETE FROM mirror_creators WHERE address = ANY($1)),
              agents AS (DELETE FROM mirror_agents WHERE address = ANY($1)),
              executions AS (DELETE FROM mirror_executions WHERE address = ANY($1)),
              disputes AS (DELETE FROM mirror_disputes WHERE address = ANY($1))
         DELETE FROM mirror_grants WHERE address = ANY($1)",
        addresses,
    );
    statement.execute(connection).await?;
    Ok(u64::try_from(addresses.len()).unwrap_or(u64::MAX))
}

/// Accounts that the mirror shows as open.
pub async fn open_accounts(pool: &PgPool) -> Result<u64> {
    let open =
        sqlx::query_scalar!(r#"SELECT count(*) AS "count!: Count" FROM mirror_accounts WHERE closed_at_slot IS NULL"#);
    Ok(open.fetch_one(pool).await?.into())
}

/// A row that says that its account is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRow {
    pub address: Pubkey,
    /// The slot at which the account was read.
    pub slot: u64,
}

/// The rows of open accounts after `after`, in the order of their addresses.
pub async fn open_rows(db: impl PgExecutor<'_>, after: &str, limit: u32) -> Result<Vec<OpenRow>> {
    let rows = sqlx::query_as!(
        OpenRow,
        r#"SELECT address AS "address: Base58", slot AS "slot: Count" FROM mirror_accounts
           WHERE closed_at_slot IS NULL AND address > $1 ORDER BY address LIMIT $2"#,
        after,
        i64::from(limit),
    );
    Ok(rows.fetch_all(db).await?)
}

/// Those of the addresses whose rows say that the account is open, with their slots.
pub async fn still_open(db: impl PgExecutor<'_>, addresses: &[Pubkey]) -> Result<Vec<OpenRow>> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let rows = sqlx::query_as!(
        OpenRow,
        r#"SELECT address AS "address: Base58", slot AS "slot: Count" FROM mirror_accounts
           WHERE closed_at_slot IS NULL AND address = ANY($1)"#,
        &addresses,
    );
    Ok(rows.fetch_all(db).await?)
}

/// Sets every slot after `most` to `to`, also the checkpoint's: slots that the chain has not reached, in rows that were
/// written when every answer of a node was believed. Returns how many rows of accounts had one.
pub async fn take_back_slots(pool: &PgPool, most: u64, to: u64) -> Result<u64> {
    let changed = sqlx::query!(
        "WITH quarantined AS (UPDATE mirror_quarantine SET slot = $2 WHERE slot > $1),
              wanted AS (UPDATE mirror_closings_wanted SET closed_at_slot = $2 WHERE closed_at_slot > $1),
              final AS (UPDATE mirror_final_accounts SET slot = $2 WHERE slot > $1),
              checkpoint AS (UPDATE mirror_checkpoint SET slot = $2 WHERE slot > $1)
         UPDATE mirror_accounts SET
             slot = CASE WHEN slot > $1 THEN $2 ELSE slot END,
             after_slot = CASE WHEN after_slot > $1 THEN $2 ELSE after_slot END,
             closed_at_slot = CASE WHEN closed_at_slot > $1 THEN $2 ELSE closed_at_slot END
         WHERE slot > $1 OR after_slot > $1 OR closed_at_slot > $1",
        amount_to_db("slot", most)?,
        amount_to_db("slot", to)?,
    );
    Ok(changed.execute(pool).await?.rows_affected())
}

/// Closed rows after `after` that were closed at `slot` or before and can be wrong, in the order of their addresses. True
/// of those that were never final: the opening was dropped with a fork, or the account was opened and closed before
/// anybody looked.
///
/// A trigger starts a search for the closing of each row that becomes closed, and the closing proves the account and ends
/// the search. So only accounts with a search, and closed rows of kinds that the program never closes, are read.
pub async fn unproved_closed(pool: &PgPool, after: &str, slot: u64) -> Result<Vec<(Pubkey, bool)>> {
    let rows = sqlx::query!(
        r#"SELECT c.address AS "address!: Base58",
                  f.address IS NULL AND EXISTS (
                      SELECT FROM mirror_states s WHERE s.address = c.address AND s.closed_at_slot <= $2)
                  AS "never_final!"
           FROM (SELECT address FROM mirror_closings_wanted WHERE address > $1 AND closed_at_slot <= $2
                 UNION ALL SELECT address FROM mirror_rows WHERE address > $1 AND closed_at_slot <= $2
                     AND name IN ('mirror_config', 'mirror_creators', 'mirror_grants')
                 ORDER BY address LIMIT $3) AS c
           LEFT JOIN LATERAL (SELECT address FROM mirror_final_accounts t WHERE t.address = c.address OFFSET 0) f
               ON true
           ORDER BY c.address"#,
        after,
        amount_to_db("slot", slot)?,
        PAGE,
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(|row| (row.address.into(), row.never_final)).collect())
}
