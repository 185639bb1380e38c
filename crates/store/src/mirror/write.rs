//! Writes batches: changes, whole snapshots, and rows of the gateway.

use std::collections::HashSet;

use crtx_protocol::mirror_digest::data_hash;
use solana_pubkey::Pubkey;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, types::Json};

use super::{
    batch::Batch,
    checkpoint,
    kinds::{DISPUTES, EXECUTIONS, TABLES},
    quarantine,
    row::AccountRow,
};
use crate::{Result, columns::Base58, database::run, events, execution_list, transaction};

/// Rows per statement: enough to make the round trip cheap, few enough to keep locks short.
const ROWS_PER_STATEMENT: usize = 1_000;

/// Writes a batch into the caller's transaction. Returns how many rows changed.
pub async fn apply(connection: &mut PgConnection, batch: &Batch) -> Result<u64> {
    let mut changed: u64 = 0;
    if batch.of(&DISPUTES).next().is_some() {
        execution_list::lock(&mut *connection, &batch.records()).await?;
    }
    for table in TABLES {
        let rows: Vec<&AccountRow> = batch.of(table).collect();
        for rows in rows.chunks(ROWS_PER_STATEMENT) {
            let Some(first) = rows.first() else { continue };
            let columns: Vec<_> = rows.iter().map(|row| &row.columns).collect();
            let upsert = sqlx::query(AssertSqlSafe(table.upsert(first))).bind(Json(columns));
            changed = changed.saturating_add(upsert.execute(&mut *connection).await?.rows_affected());
        }
    }
    if batch.of(&EXECUTIONS).next().is_some() {
        count_totals(&mut *connection).await?;
    }
    quarantine::release(&mut *connection, batch.rows.values()).await?;
    quarantine::write(connection, batch.quarantine.values()).await?;
    Ok(changed)
}

/// Adds the changes that the trigger on `mirror_executions` noted in this transaction to the totals: which wallets paid
/// which agent, what agents received, and their trust, which lists show (`migrations/0003_totals.sql`). It locks totals in the order of tables and
/// keys, so the transaction must have all its locks on executions before.
pub async fn count_totals(connection: &mut PgConnection) -> Result<()> {
    let statement = sqlx::query!(
        "WITH noted AS (
             DELETE FROM mirror_total_notes
             RETURNING agent, caller, completed, failed, spent, earned, fees, disputed, upheld),
         changes AS (
             SELECT caller, agent, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed,
                    sum(spent) AS spent, sum(earned) AS earned, sum(fees) AS fees, sum(disputed)::bigint AS disputed,
                    sum(upheld)::bigint AS upheld
             FROM noted GROUP BY caller, agent),
         callers AS (
             INSERT INTO mirror_agent_callers AS t (caller, agent, completed, failed, spent, fees, disputed, upheld)
             SELECT caller, agent, completed, failed, spent, fees, disputed, upheld FROM changes ORDER BY caller, agent
             ON CONFLICT (caller, agent) DO UPDATE SET
                 completed = t.completed + excluded.completed, failed = t.failed + excluded.failed,
                 spent = t.spent + excluded.spent, fees = t.fees + excluded.fees,
                 disputed = t.disputed + excluded.disputed, upheld = t.upheld + excluded.upheld
             RETURNING caller, agent, completed, fees, disputed, upheld),
         totals AS (
             INSERT INTO mirror_agent_totals AS t (agent, unique_callers, earned, trust, disputes, upheld_wallets)
             SELECT agent, sum((a.completed > 0)::int - (a.completed > c.completed)::int), sum(c.earned),
                    sum(trusted_fees(a.fees) - trusted_fees(a.fees - c.fees)),
                    sum(counted_disputes(a.disputed) - counted_disputes(a.disputed - c.disputed)),
                    sum((a.upheld > 0)::int - (a.upheld > c.upheld)::int)
             FROM callers a JOIN changes c USING (caller, agent)
             WHERE c.completed <> 0 OR c.earned <> 0 OR c.fees <> 0 OR c.disputed <> 0 OR c.upheld <> 0
             GROUP BY agent ORDER BY agent
             ON CONFLICT (agent) DO UPDATE SET
                 unique_callers = t.unique_callers + excluded.unique_callers, earned = t.earned + excluded.earned,
                 trust = t.trust + excluded.trust, disputes = t.disputes + excluded.disputes,
                 upheld_wallets = t.upheld_wallets + excluded.upheld_wallets
             RETURNING agent)
         INSERT INTO mirror_agent_changes (agent, changed_in)
         SELECT agent, pg_current_xact_id() FROM totals ORDER BY agent
         ON CONFLICT (agent) DO UPDATE SET changed_in = excluded.changed_in"
    );
    run(connection, statement).await
}

/// What [`apply_differing`] found and wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Accounts that the mirror showed in another state.
    pub written: Vec<Pubkey>,
    /// Accounts whose row has a newer revision than this later read.
    pub ahead: Vec<Pubkey>,
}

/// Compares a part of a snapshot with the stored rows first, and writes only what differs, in a transaction of its own.
/// It writes nothing, and locks nothing, if all rows are equal. The commit does not wait for the disk: a later commit
/// notes that the snapshot was applied.
pub async fn apply_differing(pool: &PgPool, mut batch: Batch) -> Result<Applied> {
    let mut applied = Applied::default();
    let mut kept = HashSet::new();
    for (address, is_replaced) in differing(pool, &batch).await? {
        if is_replaced {
            applied.written.push(address);
            kept.insert(address.to_string());
        } else {
            applied.ahead.push(address);
        }
    }
    let addresses: Vec<String> = batch.rows.keys().chain(batch.quarantine.keys()).cloned().collect();
    let quarantined = quarantine::hashes(pool, &addresses).await?;
    // A row that the database refused is tried again after a while.
    let refused = |address: &String, hash: &[u8; 32]| quarantined.get(address) == Some(&Some(*hash));
    kept.retain(|address| !batch.rows.get(address).is_some_and(|row| refused(address, &row.data_hash)));
    batch.quarantine.retain(|address, row| !refused(address, &data_hash(&row.data)));
    // What was quarantined and is readable leaves the quarantine, though its row may be equal.
    let released: Vec<AccountRow> =
        batch.rows.values().filter(|row| quarantined.contains_key(&row.address)).cloned().collect();
    batch.rows.retain(|address, _| kept.contains(address));
    if !batch.is_empty() || !released.is_empty() {
        let mut transaction = transaction::begin_relaxed(pool).await?;
        apply(&mut transaction, &batch).await?;
        quarantine::release(&mut transaction, released.iter()).await?;
        transaction.commit().await?;
    }
    Ok(applied)
}

/// Accounts that were read in another state than the mirror shows, and whether that state replaces the row. Otherwise the
/// row has a newer revision, and was stored at an earlier slot: the account was opened again, or its newer state was
/// dropped with a fork.
async fn differing(pool: &PgPool, batch: &Batch) -> Result<Vec<(Pubkey, bool)>> {
    // OFFSET 0: each row is read by its key. Without statistics, a plain join reads the whole table.
    let rows = sqlx::query!(
        r#"SELECT d.address AS "address!: Base58", d.is_replaced AS "is_replaced!" FROM (
               SELECT r.address,
                      t.address IS NULL
                          OR is_replaced(t.slot, t.revision, t.data_hash, t.after_slot, t.closed_at_slot,
                                         r.slot, r.revision, r.data_hash) AS is_replaced,
                      t.revision > r.revision AND t.slot < r.slot AND t.closed_at_slot IS NULL AS is_ahead
               FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[]) AS r (address, slot, revision, data_hash)
               LEFT JOIN LATERAL (SELECT * FROM mirror_accounts s WHERE s.address = r.address OFFSET 0) t ON true) d
           WHERE d.is_replaced OR d.is_ahead"#,
        &batch.readable(),
        &batch.rows.values().map(|row| row.number("slot")).collect::<Vec<_>>(),
        &batch.rows.values().map(|row| row.number("revision")).collect::<Vec<_>>(),
        &batch.rows.values().map(|row| row.data_hash.to_vec()).collect::<Vec<_>>(),
    );
    Ok(rows.fetch_all(pool).await?.into_iter().map(|row| (row.address.into(), row.is_replaced)).collect())
}

/// Writes a batch of changes and moves the checkpoint to `slot` if that is later, in one transaction. Slot 0 does not
/// move it. The commit does not wait for the disk: the chain can repeat the batch.
pub async fn apply_changes(pool: &PgPool, batch: &Batch, slot: u64) -> Result<u64> {
    let mut transaction = transaction::begin_relaxed(pool).await?;
    let changed = apply(&mut transaction, batch).await?;
    if slot > 0 {
        checkpoint::move_to(&mut *transaction, slot).await?;
    }
    transaction.commit().await?;
    Ok(changed)
}

/// Deletes all rows of the mirror and the checkpoint: for another chain, whose rows would not replace rows with later
/// revisions. Metadata documents stay: they are found by their hash.
///
/// Row triggers do not see what is truncated: agents are noted as changed, and the lists are made again. The checkpoint is
/// locked first, because readers of the list of agents read it first.
pub async fn clear(pool: &PgPool) -> Result<()> {
    let mut transaction = transaction::begin(pool).await?;
    events::log_nothing(&mut transaction).await?;
    let statement = sqlx::query!(
        "UPDATE mirror_agent_changes SET changed_in = pg_current_xact_id()
         WHERE agent IN (SELECT address FROM mirror_agents)"
    );
    statement.execute(&mut *transaction).await?;
    let statement = sqlx::query!(
        "TRUNCATE mirror_checkpoint, mirror_accounts, mirror_quarantine, mirror_total_notes, mirror_agent_callers,
                  mirror_agent_totals, mirror_final_accounts, mirror_digest, mirror_digest_history, mirror_closings,
                  mirror_closings_wanted, mirror_rebuild, mirror_rebuild_transactions"
    );
    statement.execute(&mut *transaction).await?;
    sqlx::query!("SELECT FROM (SELECT rebuild_lists()) AS rebuilt").fetch_one(&mut *transaction).await?;
    Ok(transaction.commit().await?)
}
