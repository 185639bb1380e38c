//! What the mirror shows of accounts, and corrections that may go back: a fork of the chain was dropped, an address was
//! used again, an account was closed, or a local chain lost its last blocks.

use std::collections::HashMap;

use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgPool};

use super::{
    accounts,
    batch::Batch,
    compare::compare_with,
    digest, quarantine,
    write::{apply, count_totals},
};
use crate::{Result, StoreError, columns::Base58, convert::amount_to_db, transaction};

/// What the mirror shows of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownAccount {
    pub open: bool,
    /// BLAKE3 of the bytes, if it is known.
    pub data_hash: Option<[u8; 32]>,
}

/// What the mirror shows of these accounts. Accounts that it never had are missing.
pub async fn shown(pool: &PgPool, addresses: &[Pubkey]) -> Result<HashMap<Pubkey, Vec<ShownAccount>>> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let mut found: HashMap<Pubkey, Vec<ShownAccount>> = HashMap::new();
    let rows = sqlx::query!(
        r#"SELECT a.address AS "address!: Base58", t.closed_at_slot IS NULL AS "open!", t.data_hash AS "data_hash: [u8; 32]"
           FROM unnest($1::text[]) AS a (address)
           CROSS JOIN LATERAL (SELECT * FROM mirror_states s WHERE s.address = a.address OFFSET 0) t"#,
        &addresses,
    );
    let rows = rows.fetch_all(pool).await?;
    for row in rows {
        found.entry(row.address.into()).or_default().push(ShownAccount { open: row.open, data_hash: row.data_hash });
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
pub async fn correct(pool: &PgPool, read: &Batch, gone: &[Pubkey], slot: u64) -> Result<Corrected> {
    let gone: Vec<String> = gone.iter().map(Pubkey::to_string).collect();
    let at = amount_to_db("slot", slot)?;
    let mut corrected = Corrected::default();
    let mut transaction = transaction::begin(pool).await?;
    let (addresses, hashes): (Vec<String>, Vec<Vec<u8>>) =
        read.rows.values().map(|row| (row.address.clone(), row.data_hash.to_vec())).unzip();
    lock(&mut transaction, &addresses).await?;
    // Rows with other bytes become older than every other state, so that the upsert replaces them. States up to the row's
    // slot are not accepted again.
    let statement = sqlx::query!(
        "UPDATE mirror_accounts t SET revision = -1, data_hash = NULL, after_slot = LEAST(t.slot, $3::bigint - 1)
         FROM unnest($1::text[], $2::bytea[]) AS r (address, data_hash)
         WHERE t.address = r.address AND t.data_hash IS DISTINCT FROM r.data_hash AND t.slot <= $3
             AND t.closed_at_slot IS NULL",
        &addresses,
        &hashes,
        at,
    );
    statement.execute(&mut *transaction).await?;
    corrected.replaced = apply(&mut transaction, read).await?;
    if !gone.is_empty() {
        let never_final = sqlx::query_scalar!(
            "SELECT address FROM mirror_accounts t WHERE address = ANY($1) AND slot <= $2
                 AND NOT EXISTS (SELECT FROM mirror_final_accounts f WHERE f.address = t.address)
             ORDER BY tableoid, address FOR UPDATE",
            &gone,
            at,
        );
        let never_final = never_final.fetch_all(&mut *transaction).await?;
        corrected.deleted = accounts::delete(&mut transaction, &never_final).await?;
        corrected.closed = accounts::mark(&mut transaction, &gone, at).await?;
        quarantine::remove(&mut transaction, &gone, at).await?;
        count_totals(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(corrected)
}

/// Makes rows that an audit found to be wrong equal to the accounts as they were read at `slot`, though their hashes may
/// fit. `found` has the revision of each wrong row; a row that has another one by now was written meanwhile and stays.
pub async fn rewrite(pool: &PgPool, read: &Batch, found: &HashMap<String, i64>, slot: u64) -> Result<u64> {
    let at = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    let (addresses, revisions): (Vec<String>, Vec<i64>) =
        read.rows.keys().filter_map(|address| Some((address.clone(), *found.get(address)?))).unzip();
    lock(&mut transaction, &addresses).await?;
    let statement = sqlx::query!(
        "UPDATE mirror_accounts t SET revision = -1, data_hash = NULL, after_slot = LEAST(t.slot, $3::bigint - 1)
         FROM unnest($1::text[], $2::bigint[]) AS r (address, revision)
         WHERE t.address = r.address AND t.revision = r.revision AND t.closed_at_slot IS NULL",
        &addresses,
        &revisions,
        at,
    );
    statement.execute(&mut *transaction).await?;
    let written = apply(&mut transaction, read).await?;
    transaction.commit().await?;
    Ok(written)
}

/// Locks rows in the order in which batches lock them: by tables as they were created, then by addresses.
async fn lock(connection: &mut PgConnection, addresses: &[String]) -> Result<()> {
    let statement = sqlx::query!(
        "SELECT address FROM mirror_accounts WHERE address = ANY($1) ORDER BY tableoid, address FOR NO KEY UPDATE",
        addresses,
    );
    statement.fetch_all(connection).await?;
    Ok(())
}

/// Makes the row of the account in `last` equal to it and marks it as closed at `slot`. If the address was used again
/// later, that is the row of the earlier use. `last` has one account, of a kind that the program closes, as it was at
/// `slot`. True: the row missed the last state, or somebody changed it since.
pub async fn close_with(connection: &mut PgConnection, last: Batch, slot: u64) -> Result<bool> {
    let slot = amount_to_db("slot", slot)?;
    let read = last.rows.values().next();
    let read = read.ok_or_else(|| StoreError::corrupt("closing", "it has no account that can be decoded"))?;
    let began = ["opened_at", "raised_at"].into_iter().map(|column| read.text(column)).find(|time| !time.is_empty());
    // Which use of the address it was: one before that of the present row, or one after it.
    let used = sqlx::query!(
        r#"SELECT key, COALESCE(is_next_use(l.began, s.began)
                               OR EXISTS (SELECT FROM mirror_accounts t WHERE t.address = key), false) AS "is_past!",
                  COALESCE(is_next_use(s.began, l.began), false) AS "is_next!"
           FROM (SELECT $1 AS address, $2::text::timestamptz AS began) AS l
           CROSS JOIN past_key(l.address, l.began) AS key
           LEFT JOIN (SELECT address, opened_at AS began FROM mirror_executions
                      UNION ALL SELECT address, raised_at FROM mirror_disputes) AS s ON s.address = l.address"#,
        read.address,
        began,
    );
    let used = used.fetch_one(&mut *connection).await?;
    let key = used.key.filter(|_| used.is_past);
    let address = key.as_ref().unwrap_or(&read.address);
    let stored =
        sqlx::query!("SELECT slot, closed_at_slot FROM mirror_accounts WHERE address = $1 FOR UPDATE", address);
    let stored = stored.fetch_optional(&mut *connection).await?;
    if stored.as_ref().is_some_and(|stored| stored.closed_at_slot.is_none() && stored.slot > slot) {
        return Ok(false);
    }
    let name = read.table.name;
    let rows = sqlx::query_scalar!(
        r#"SELECT of_account(row) AS "row!" FROM mirror_rows WHERE name = $1 AND address = $2"#,
        name,
        address,
    );
    let is_equal = compare_with(&last, rows.fetch_all(&mut *connection).await?)?.equal > 0;
    let is_wrong = stored.is_some() && !is_equal && !used.is_next;
    if is_wrong {
        accounts::delete(connection, std::slice::from_ref(address)).await?;
    }
    if !is_equal {
        // Without a row, the account was opened and closed unseen.
        match &key {
            Some(key) => {
                let moved = sqlx::query!(
                    "SELECT FROM (SELECT move_to_past(address, $2::text::timestamptz, opened_at) FROM mirror_executions
                                  WHERE address = $1 AND opened_at > $2::text::timestamptz) AS moved",
                    read.address,
                    began,
                );
                moved.fetch_optional(&mut *connection).await?;
                apply(connection, &last.clone().with_key(key)).await?
            }
            None => apply(connection, &last).await?,
        };
        count_totals(connection).await?;
    }
    let statement = sqlx::query!(
        "UPDATE mirror_accounts SET closed_at_slot = $2 WHERE address = $1 AND closed_at_slot IS DISTINCT FROM $2",
        address,
        slot,
    );
    statement.execute(connection).await?;
    Ok(is_wrong)
}

/// For a local chain that lost its last blocks: makes the mirror equal to a snapshot of the chain. The rows of `lost`
/// are deleted: no transaction of this chain names these accounts. Rows with a later revision than the snapshot's are
/// replaced. Rows of closed accounts stay. Returns how many rows were deleted.
pub async fn roll_back(connection: &mut PgConnection, snapshot: &Batch, lost: &[Pubkey]) -> Result<u64> {
    let lost: Vec<String> = lost.iter().map(Pubkey::to_string).collect();
    let (addresses, revisions): (Vec<String>, Vec<i64>) =
        snapshot.rows.values().map(|row| (row.address.clone(), row.number("revision"))).unzip();
    let gone = sqlx::query_scalar!(
        "SELECT t.address FROM mirror_accounts t
         LEFT JOIN unnest($2::text[], $3::bigint[]) AS s (address, revision) ON s.address = t.address
         WHERE t.address = ANY($1) OR s.revision < t.revision FOR UPDATE OF t",
        &lost,
        &addresses,
        &revisions,
    );
    let gone = gone.fetch_all(&mut *connection).await?;
    let deleted = accounts::delete(connection, &gone).await?;
    apply(connection, snapshot).await?;
    // The snapshot may have no execution.
    count_totals(connection).await?;
    // What was final may be lost: the indexer reads it again.
    digest::forget(connection, &lost).await?;
    Ok(deleted)
}
