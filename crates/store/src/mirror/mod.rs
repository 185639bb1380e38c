//! The mirror of the program's accounts: batches of rows go in, forward only, together with the
//! checkpoint that says how far the mirror is.

mod compare;
mod rows;
mod set_back;
mod upsert;

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool};

pub use compare::{Comparison, Difference, compare};
pub use rows::{
    AgentRow, Bytes, ConfigRow, CreatorRow, DisputeRow, ExecutionRow, GrantRow, MirrorRow, Mirrored, QuarantineRow,
    TierRow,
};
pub use set_back::set_back;

use crate::{
    StoreError,
    convert::{amount_from_db, amount_to_db, pubkey},
    transaction,
};

/// Rows per statement: enough to make the round trip cheap, few enough to keep locks short.
const ROWS_PER_STATEMENT: usize = 1_000;

/// Rows to be written together. Of one account only the newest state is kept.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    configs: HashMap<String, ConfigRow>,
    creators: HashMap<String, CreatorRow>,
    agents: HashMap<String, AgentRow>,
    executions: HashMap<String, ExecutionRow>,
    disputes: HashMap<String, DisputeRow>,
    grants: HashMap<String, GrantRow>,
    quarantine: HashMap<String, QuarantineRow>,
}

/// An account type that a [`Batch`] can take.
pub trait Batched: Mirrored {
    #[doc(hidden)]
    fn rows(batch: &mut Batch) -> &mut HashMap<String, Self::Row>;
}

macro_rules! batched {
    ($($account:ident => $field:ident),+ $(,)?) => {
        $(impl Batched for agent_marketplace::state::$account {
            fn rows(batch: &mut Batch) -> &mut HashMap<String, Self::Row> {
                &mut batch.$field
            }
        })+
    };
}

batched! {
    Config => configs,
    CreatorProfile => creators,
    AgentListing => agents,
    ExecutionRecord => executions,
    Dispute => disputes,
    SpendingGrant => grants,
}

fn keep_newest<R: MirrorRow>(rows: &mut HashMap<String, R>, row: R) {
    match rows.get(row.address()) {
        Some(kept) if kept.version() >= row.version() => {}
        _ => drop(rows.insert(row.address().to_owned(), row)),
    }
}

impl Batch {
    /// Adds an account as read at `slot`. An error says what the bytes hold that the program never
    /// writes; the account then belongs into [`Batch::quarantine`].
    pub fn push<A: Batched>(&mut self, address: &Pubkey, slot: u64, account: &A) -> Result<(), StoreError> {
        let row = account.to_row(address, slot)?;
        keep_newest(A::rows(self), row);
        Ok(())
    }

    /// Adds an account whose bytes could not be read.
    pub fn quarantine(
        &mut self,
        address: &Pubkey,
        slot: u64,
        data: Vec<u8>,
        error: impl ToString,
    ) -> Result<(), StoreError> {
        let slot = amount_to_db("slot", slot)?;
        let row = QuarantineRow { address: address.to_string(), slot, data: Bytes(data), error: error.to_string() };
        self.quarantine.insert(row.address.clone(), row);
        Ok(())
    }

    /// Accounts in the batch, unreadable ones included.
    pub fn len(&self) -> usize {
        [
            self.configs.len(),
            self.creators.len(),
            self.agents.len(),
            self.executions.len(),
            self.disputes.len(),
            self.grants.len(),
            self.quarantine.len(),
        ]
        .iter()
        .sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Addresses of the accounts that could be read.
    fn readable(&self) -> Vec<String> {
        self.configs
            .keys()
            .chain(self.creators.keys())
            .chain(self.agents.keys())
            .chain(self.executions.keys())
            .chain(self.disputes.keys())
            .chain(self.grants.keys())
            .cloned()
            .collect()
    }

    /// Addresses of all accounts in the batch.
    fn addresses(&self) -> Vec<String> {
        let mut all = self.readable();
        all.extend(self.quarantine.keys().cloned());
        all
    }
}

/// The JSON arrays that a statement takes, in the order of the addresses: writers that meet lock rows in
/// the same order.
fn chunks<R: MirrorRow>(rows: &HashMap<String, R>) -> Result<Vec<Value>, StoreError> {
    let mut sorted: Vec<&R> = rows.values().collect();
    sorted.sort_by(|a, b| a.address().cmp(b.address()));
    sorted
        .chunks(ROWS_PER_STATEMENT)
        .map(|chunk| serde_json::to_value(chunk).map_err(|error| StoreError::corrupt("row", error)))
        .collect()
}

/// How far the mirror is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The mirror shows the chain at this slot or later.
    pub slot: u64,
    /// Which chain: its genesis hash, if a source has told it.
    pub genesis_hash: Option<String>,
    /// When the last snapshot was applied.
    pub snapshot_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

/// Writes a batch into the caller's transaction. Returns how many rows changed.
pub async fn apply(connection: &mut PgConnection, batch: &Batch) -> Result<u64, StoreError> {
    let mut changed: u64 = 0;
    macro_rules! write {
        ($($field:ident => $statement:path),+ $(,)?) => {
            $(for rows in chunks(&batch.$field)? {
                changed = changed.saturating_add($statement(&mut *connection, &rows).await?);
            })+
        };
    }
    write! {
        configs => upsert::config,
        creators => upsert::creators,
        agents => upsert::agents,
        executions => upsert::executions,
        disputes => upsert::disputes,
        grants => upsert::grants,
    }
    write_quarantine(connection, batch).await?;
    Ok(changed)
}

/// Keeps unreadable accounts, and lets go of those that have become readable.
async fn write_quarantine(connection: &mut PgConnection, batch: &Batch) -> Result<(), StoreError> {
    for row in batch.quarantine.values() {
        sqlx::query!(
            "INSERT INTO mirror_quarantine AS t (address, slot, data, error) VALUES ($1, $2, $3, $4)
             ON CONFLICT (address) DO UPDATE SET
                 slot = excluded.slot, data = excluded.data, error = excluded.error, observed_at = now()
             WHERE excluded.slot >= t.slot",
            row.address,
            row.slot,
            row.data.0,
            row.error.replace('\0', "\u{fffd}"),
        )
        .execute(&mut *connection)
        .await?;
    }
    let quarantined = sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM mirror_quarantine) AS "any!""#)
        .fetch_one(&mut *connection)
        .await?;
    if quarantined {
        sqlx::query!("DELETE FROM mirror_quarantine WHERE address = ANY($1)", &batch.readable())
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Writes a batch whose rows nobody else has locked. Waits for a moment only: what holds the locks may take long,
/// and the batch can be written later. The commit does not wait for the disk: the chain can tell it again.
pub async fn apply_if_free(pool: &PgPool, batch: &Batch) -> Result<(), StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    sqlx::query!(
        "SELECT set_config('synchronous_commit', 'off', true) AS relaxed, set_config('lock_timeout', '100ms', true) AS patience"
    )
    .fetch_one(&mut *transaction)
    .await?;
    apply(&mut transaction, batch).await?;
    Ok(transaction.commit().await?)
}

/// Writes a batch of changes and moves the checkpoint to `slot` if that is later, in one transaction.
pub async fn apply_changes(pool: &PgPool, batch: &Batch, slot: u64) -> Result<u64, StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    let changed = apply(&mut transaction, batch).await?;
    sqlx::query!(
        "INSERT INTO mirror_checkpoint AS c (slot) VALUES ($1)
         ON CONFLICT (only_row) DO UPDATE SET slot = GREATEST(c.slot, excluded.slot), updated_at = now()",
        amount_to_db("slot", slot)?,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(changed)
}

/// What a snapshot does to the rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotMode {
    /// The same chain as before: rows move forward only.
    Forward,
    /// Another chain: what is stored is worth nothing. Rows of all mirror tables are replaced. Metadata documents
    /// stay: they are found by their hash.
    Replace,
}

/// Applies a whole snapshot read at `slot`, in one transaction with the checkpoint.
pub async fn resync(
    pool: &PgPool,
    batch: &Batch,
    slot: u64,
    genesis_hash: Option<&str>,
    mode: SnapshotMode,
) -> Result<u64, StoreError> {
    let mut transaction = transaction::begin(pool).await?;
    if mode == SnapshotMode::Replace {
        clear(&mut *transaction).await?;
    }
    let changed = apply(&mut transaction, batch).await?;
    sqlx::query!(
        "INSERT INTO mirror_checkpoint AS c (slot, genesis_hash, snapshot_at) VALUES ($1, $2, now())
         ON CONFLICT (only_row) DO UPDATE SET
             slot = GREATEST(c.slot, excluded.slot),
             genesis_hash = COALESCE(excluded.genesis_hash, c.genesis_hash),
             snapshot_at = now(),
             updated_at = now()",
        amount_to_db("slot", slot)?,
        genesis_hash,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(changed)
}

/// Forgets all that is mirrored of the chain, checkpoint included: for a chain that was set back, of which the
/// rows, having newer revisions, would stay. Metadata documents stay.
pub async fn clear(executor: impl PgExecutor<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "TRUNCATE mirror_config, mirror_creators, mirror_agents, mirror_executions, mirror_disputes, mirror_grants,
                  mirror_quarantine, mirror_checkpoint"
    )
    .execute(executor)
    .await?;
    Ok(())
}

/// Accounts that the mirror has as open, that were stored before `slot`, and that a snapshot of that slot
/// does not have. Whether they are closed has to be confirmed by reading them.
pub async fn missing_from(pool: &PgPool, snapshot: &Batch, slot: u64) -> Result<Vec<Pubkey>, StoreError> {
    sqlx::query_scalar!(
        r#"SELECT stored.address AS "address!" FROM (
               SELECT address, slot FROM mirror_config WHERE closed_at_slot IS NULL
               UNION ALL SELECT address, slot FROM mirror_creators WHERE closed_at_slot IS NULL
               UNION ALL SELECT address, slot FROM mirror_agents WHERE closed_at_slot IS NULL
               UNION ALL SELECT address, slot FROM mirror_executions WHERE closed_at_slot IS NULL
               UNION ALL SELECT address, slot FROM mirror_disputes WHERE closed_at_slot IS NULL
               UNION ALL SELECT address, slot FROM mirror_grants WHERE closed_at_slot IS NULL
           ) stored
           LEFT JOIN unnest($1::text[]) AS present (address) USING (address)
           WHERE present.address IS NULL AND stored.slot < $2"#,
        &snapshot.addresses(),
        amount_to_db("slot", slot)?,
    )
    .fetch_all(pool)
    .await?
    .iter()
    .map(|address| pubkey("account address", address))
    .collect()
}

/// Marks accounts as closed: a read at `slot` did not find them. Rows that were read later stay as they are.
pub async fn mark_closed(pool: &PgPool, addresses: &[Pubkey], slot: u64) -> Result<u64, StoreError> {
    let addresses: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let slot = amount_to_db("slot", slot)?;
    let mut transaction = transaction::begin(pool).await?;
    let mut closed: u64 = 0;
    macro_rules! close {
        ($($statement:literal),+ $(,)?) => {
            $(closed = closed.saturating_add(
                sqlx::query!($statement, &addresses, slot).execute(&mut *transaction).await?.rows_affected(),
            );)+
        };
    }
    close!(
        "UPDATE mirror_config SET closed_at_slot = $2, observed_at = now() WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
        "UPDATE mirror_creators SET closed_at_slot = $2, observed_at = now() WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
        "UPDATE mirror_agents SET closed_at_slot = $2, observed_at = now() WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
        "UPDATE mirror_executions SET closed_at_slot = $2, observed_at = now() WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
        "UPDATE mirror_disputes SET closed_at_slot = $2, observed_at = now() WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
        "UPDATE mirror_grants SET closed_at_slot = $2, observed_at = now() WHERE address = ANY($1) AND closed_at_slot IS NULL AND slot <= $2",
    );
    sqlx::query!("DELETE FROM mirror_quarantine WHERE address = ANY($1)", &addresses)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(closed)
}

/// How far the mirror is; `None` before the first snapshot.
pub async fn checkpoint(executor: impl PgExecutor<'_>) -> Result<Option<Checkpoint>, StoreError> {
    sqlx::query!("SELECT slot, genesis_hash, snapshot_at, updated_at FROM mirror_checkpoint")
        .fetch_optional(executor)
        .await?
        .map(|row| {
            Ok(Checkpoint {
                slot: amount_from_db("slot", row.slot)?,
                genesis_hash: row.genesis_hash,
                snapshot_at: row.snapshot_at,
                updated_at: row.updated_at,
            })
        })
        .transpose()
}

/// An agent's listing amounts against the sum over its open records, where the two differ.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OpenAmountMismatch {
    pub agent: String,
    /// What the listing says is open.
    pub listing: i64,
    /// What its open records sum up to.
    pub records: i64,
}

impl Batch {
    /// Listings whose `open_amount` is not the sum over their open records. Meaningful for a whole snapshot.
    pub fn open_amount_mismatches(&self) -> Vec<OpenAmountMismatch> {
        let mut sums: HashMap<&str, i64> = HashMap::new();
        for record in self.executions.values().filter(|record| record.status == 1) {
            let sum = sums.entry(&record.agent).or_default();
            *sum = sum.saturating_add(record.amount);
        }
        self.agents
            .values()
            .map(|agent| (agent, sums.get(agent.address.as_str()).copied().unwrap_or_default()))
            .filter(|(agent, sum)| agent.open_amount != *sum)
            .map(|(agent, records)| OpenAmountMismatch {
                agent: agent.address.clone(),
                listing: agent.open_amount,
                records,
            })
            .collect()
    }

    /// Addresses of the listings in the batch.
    pub fn agent_addresses(&self) -> Result<Vec<Pubkey>, StoreError> {
        self.agents.keys().map(|address| pubkey("agent address", address)).collect()
    }

    /// Accounts in the batch that could not be read.
    pub fn quarantined(&self) -> usize {
        self.quarantine.len()
    }
}

/// How much the mirror holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub agents: u64,
    pub executions: u64,
    pub creators: u64,
    pub disputes: u64,
    pub grants: u64,
    pub quarantined: u64,
    /// Listings whose metadata document is not there (yet).
    pub agents_without_metadata: u64,
}

pub async fn counts(executor: impl PgExecutor<'_>) -> Result<Counts, StoreError> {
    let row = sqlx::query!(
        r#"SELECT
               (SELECT count(*) FROM mirror_agents) AS "agents!",
               (SELECT count(*) FROM mirror_executions) AS "executions!",
               (SELECT count(*) FROM mirror_creators) AS "creators!",
               (SELECT count(*) FROM mirror_disputes) AS "disputes!",
               (SELECT count(*) FROM mirror_grants) AS "grants!",
               (SELECT count(*) FROM mirror_quarantine) AS "quarantined!",
               (SELECT count(*) FROM mirror_agents WHERE name IS NULL AND closed_at_slot IS NULL)
                   AS "agents_without_metadata!""#
    )
    .fetch_one(executor)
    .await?;
    Ok(Counts {
        agents: amount_from_db("count", row.agents)?,
        executions: amount_from_db("count", row.executions)?,
        creators: amount_from_db("count", row.creators)?,
        disputes: amount_from_db("count", row.disputes)?,
        grants: amount_from_db("count", row.grants)?,
        quarantined: amount_from_db("count", row.quarantined)?,
        agents_without_metadata: amount_from_db("count", row.agents_without_metadata)?,
    })
}
