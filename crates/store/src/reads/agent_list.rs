//! What the list of agents is built from: all rows, and the rows that changed since an earlier look.
//!
//! A look is a transaction that sees one state of the database. It has a text form, PostgreSQL's `pg_snapshot`, and a
//! later look finds every row whose transaction the earlier one did not see, even if that transaction began long before
//! and committed late.

use std::ops::{Deref, DerefMut};

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgExecutor, PgPool, Postgres, Transaction};

use crate::{
    convert::{amount_from_db, optional_amount_from_db, pubkey},
    error::StoreError,
    transaction,
};

/// A transaction that sees one state of the database.
pub struct Look {
    transaction: Transaction<'static, Postgres>,
    pub head: LookHead,
}

/// What a look says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookHead {
    /// Which transactions the look sees: the argument of later looks.
    pub seen: String,
    /// The first transaction that was not begun. It only grows, unless the database was replaced.
    pub next_transaction: u64,
    /// The slot that the mirror has reached.
    pub slot: Option<u64>,
    /// The clock of the database.
    pub at: DateTime<Utc>,
}

/// An agent's row, as far as lists need it.
#[derive(Clone, Debug, PartialEq)]
pub struct ListRow {
    pub address: Pubkey,
    /// The transaction that changed it last; not read with all agents.
    pub changed_in: String,
    /// `None` if lists do not show the agent.
    pub listed: Option<ListedRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListedRow {
    pub creator: Pubkey,
    pub price: u64,
    pub total_executions: u64,
    pub trust: u64,
    pub success_rate: f64,
    pub avg_execution_time_ms: u64,
    pub created_at: DateTime<Utc>,
    pub binding: bool,
    pub metadata_hash: Vec<u8>,
    pub name: String,
    pub tagline: String,
    pub tags: Vec<String>,
}

/// A creator whose profile changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListCreator {
    pub wallet: Pubkey,
    pub verified: bool,
    pub changed_in: String,
}

/// Rows that are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    Agent(Pubkey),
    Creator(Pubkey),
    /// A whole table was emptied.
    All,
}

/// The last row of a page: the next one begins after it.
#[derive(Clone, Debug)]
pub struct After {
    pub changed_in: String,
    pub address: Pubkey,
}

impl Look {
    pub async fn begin(pool: &PgPool) -> Result<Self, StoreError> {
        let mut transaction = transaction::begin(pool).await?;
        // Few rows of a large table: without statistics the planner would read all of them.
        let settings = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off;
                        SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";
        sqlx::raw_sql(settings).execute(&mut *transaction).await?;
        let row = sqlx::query!(
            r#"SELECT pg_current_snapshot()::text AS "seen!",
                      pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS "next_transaction!",
                      (SELECT slot FROM mirror_checkpoint) AS slot, now() AS "at!""#
        )
        .fetch_one(&mut *transaction)
        .await?;
        let head = LookHead {
            seen: row.seen,
            next_transaction: amount_from_db("transaction", row.next_transaction)?,
            slot: optional_amount_from_db("slot", row.slot)?,
            at: row.at,
        };
        Ok(Self { transaction, head })
    }

    pub async fn end(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit().await?)
    }
}

impl Deref for Look {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.transaction
    }
}

impl DerefMut for Look {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}

struct Row {
    address: String,
    changed_in: String,
    listed: bool,
    creator: String,
    price: i64,
    total_executions: i64,
    trust: i64,
    success_rate: f64,
    avg_execution_time_ms: i64,
    created_at: DateTime<Utc>,
    binding: bool,
    metadata_hash: Vec<u8>,
    name: Option<String>,
    tagline: Option<String>,
    tags: Option<Vec<String>>,
}

impl TryFrom<Row> for ListRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let listed = match (row.listed, row.name, row.tagline, row.tags) {
            (true, Some(name), Some(tagline), Some(tags)) => Some(ListedRow {
                creator: pubkey("creator", &row.creator)?,
                price: amount_from_db("price", row.price)?,
                total_executions: amount_from_db("total executions", row.total_executions)?,
                trust: amount_from_db("trust", row.trust)?,
                success_rate: row.success_rate,
                avg_execution_time_ms: amount_from_db("mean execution time", row.avg_execution_time_ms)?,
                created_at: row.created_at,
                binding: row.binding,
                metadata_hash: row.metadata_hash,
                name,
                tagline,
                tags,
            }),
            _ => None,
        };
        Ok(Self { address: pubkey("agent address", &row.address)?, changed_in: row.changed_in, listed })
    }
}

/// A page of all agents, in the order of their addresses. Those that lists do not show are among them.
pub async fn all(
    executor: impl PgExecutor<'_>,
    after: Option<&Pubkey>,
    limit: u32,
) -> Result<Vec<ListRow>, StoreError> {
    let after = after.map(Pubkey::to_string).unwrap_or_default();
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT '0' AS "changed_in!", address,
                  (status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL) AS "listed!",
                  creator, price, total_executions, trust, success_rate, avg_execution_time_ms, created_at,
                  binding, metadata_hash, name, tagline, tags
           FROM mirror_agents WHERE address > $1 ORDER BY address LIMIT $2"#,
        after,
        i64::from(limit),
    );
    rows.fetch_all(executor).await?.into_iter().map(ListRow::try_from).collect()
}

/// A page of the agents whose last change the look `seen` did not see.
pub async fn changed(
    executor: impl PgExecutor<'_>,
    seen: &str,
    after: Option<&After>,
    limit: u32,
) -> Result<Vec<ListRow>, StoreError> {
    let (changed_in, address) = start(seen, after);
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT c.changed_in::text AS "changed_in!", address,
                  (status = agent_status('active') AND closed_at_slot IS NULL AND name IS NOT NULL) AS "listed!",
                  creator, price, total_executions, trust, success_rate, avg_execution_time_ms, created_at,
                  binding, metadata_hash, name, tagline, tags
           FROM mirror_agents JOIN mirror_agent_changes c ON c.agent = address
           WHERE (c.changed_in, c.agent) > ($2::text::xid8, $3)
             AND NOT pg_visible_in_snapshot(c.changed_in, $1::text::pg_snapshot)
           ORDER BY c.changed_in, c.agent LIMIT $4"#,
        seen,
        changed_in,
        address,
        i64::from(limit),
    );
    rows.fetch_all(executor).await?.into_iter().map(ListRow::try_from).collect()
}

/// Where a page begins in the order of the index. A look has seen every transaction before the first number of its text.
/// One condition gives the index its start: with two, PostgreSQL 15 can take the one that reads the whole index.
fn start(seen: &str, after: Option<&After>) -> (String, String) {
    match after {
        Some(after) => (after.changed_in.clone(), after.address.to_string()),
        None => (seen.split(':').next().unwrap_or_default().to_owned(), String::new()),
    }
}

/// A page of the creators whose last change the look `seen` did not see.
pub async fn changed_creators(
    executor: impl PgExecutor<'_>,
    seen: &str,
    after: Option<&After>,
    limit: u32,
) -> Result<Vec<ListCreator>, StoreError> {
    let (changed_in, wallet) = start(seen, after);
    sqlx::query!(
        r#"SELECT wallet, (verified AND closed_at_slot IS NULL) AS "verified!", changed_in::text AS "changed_in!"
           FROM mirror_creators
           WHERE (changed_in, wallet) > ($2::text::xid8, $3)
               AND NOT pg_visible_in_snapshot(changed_in, $1::text::pg_snapshot)
           ORDER BY changed_in, wallet LIMIT $4"#,
        seen,
        changed_in,
        wallet,
        i64::from(limit),
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| {
        Ok(ListCreator { wallet: pubkey("creator", &row.wallet)?, verified: row.verified, changed_in: row.changed_in })
    })
    .collect()
}

/// A page of the wallets of verified creators, in their order.
pub async fn verified_creators(
    executor: impl PgExecutor<'_>,
    after: Option<&Pubkey>,
    limit: u32,
) -> Result<Vec<Pubkey>, StoreError> {
    let after = after.map(Pubkey::to_string).unwrap_or_default();
    let wallets = sqlx::query_scalar!(
        "SELECT wallet FROM mirror_creators WHERE wallet > $1 AND verified AND closed_at_slot IS NULL
         ORDER BY wallet LIMIT $2",
        after,
        i64::from(limit),
    );
    wallets.fetch_all(executor).await?.iter().map(|wallet| pubkey("creator", wallet)).collect()
}

/// What was removed since the look `seen`, the newest `limit`.
pub async fn removed(executor: impl PgExecutor<'_>, seen: &str, limit: u32) -> Result<Vec<Removed>, StoreError> {
    sqlx::query!(
        "SELECT agent, wallet FROM mirror_removals
         WHERE changed_in >= pg_snapshot_xmin($1::text::pg_snapshot)
             AND NOT pg_visible_in_snapshot(changed_in, $1::text::pg_snapshot)
         ORDER BY changed_in DESC LIMIT $2",
        seen,
        i64::from(limit),
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| match (row.agent, row.wallet) {
        (Some(agent), _) => pubkey("agent address", &agent).map(Removed::Agent),
        (None, Some(wallet)) => pubkey("creator", &wallet).map(Removed::Creator),
        (None, None) => Ok(Removed::All),
    })
    .collect()
}

/// Descriptions of agents with their document's hash. An agent without that document is missing.
pub async fn descriptions(
    executor: impl PgExecutor<'_>,
    agents: &[Pubkey],
    hashes: &[Vec<u8>],
) -> Result<Vec<(Pubkey, String)>, StoreError> {
    let agents: Vec<String> = agents.iter().map(Pubkey::to_string).collect();
    sqlx::query!(
        r#"SELECT m.agent AS "agent!", COALESCE(m.document ->> 'description', '') AS "description!"
           FROM unnest($1::text[], $2::bytea[]) AS wanted (agent, sha256)
           JOIN agent_metadata m ON m.agent = wanted.agent AND m.sha256 = wanted.sha256 AND m.error IS NULL"#,
        &agents,
        hashes,
    )
    .fetch_all(executor)
    .await?
    .into_iter()
    .map(|row| Ok((pubkey("agent address", &row.agent)?, row.description)))
    .collect()
}
