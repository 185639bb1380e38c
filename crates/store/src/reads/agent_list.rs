//! What the list of agents is built from: the agents that changed since an earlier look, or all.
//!
//! A look is a transaction that sees one state of the database. It has a text form, PostgreSQL's `pg_snapshot`, and a
//! later look finds every row whose transaction the earlier one did not see, even if that transaction began long before
//! and committed late.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

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
}

/// An agent that lists show.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRow {
    pub address: Pubkey,
    pub creator: String,
    pub verified: bool,
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
                      (SELECT slot FROM mirror_checkpoint) AS slot"#
        )
        .fetch_one(&mut *transaction)
        .await?;
        let head = LookHead {
            seen: row.seen,
            next_transaction: amount_from_db("transaction", row.next_transaction)?,
            slot: optional_amount_from_db("slot", row.slot)?,
        };
        Ok(Self { transaction, head })
    }

    pub async fn end(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit().await?)
    }

    /// The connection of the transaction.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// The agents with a change that the look `seen` did not see, of their own or of their creator; in no order, and
    /// some twice. Agents that are gone are among them. `None`: all agents.
    pub async fn changed(&mut self, seen: Option<&str>) -> Result<Vec<Pubkey>, StoreError> {
        // Before the first transaction nothing was seen. `OFFSET 0`: agents are found for each creator that changed.
        let agents = sqlx::query_scalar!(
            r#"SELECT agent AS "agent!" FROM mirror_agent_changes
               WHERE changed_in >= pg_snapshot_xmin($1::text::pg_snapshot)
                   AND NOT pg_visible_in_snapshot(changed_in, $1::text::pg_snapshot)
               UNION ALL
               SELECT a.address FROM mirror_creators c
               CROSS JOIN LATERAL (SELECT address FROM mirror_agents WHERE creator = c.wallet OFFSET 0) a
               WHERE $2 AND c.changed_in >= pg_snapshot_xmin($1::text::pg_snapshot)
                   AND NOT pg_visible_in_snapshot(c.changed_in, $1::text::pg_snapshot)"#,
            seen.unwrap_or("1:1:"),
            seen.is_some(),
        );
        let agents = agents.fetch_all(&mut *self.transaction).await?;
        agents.iter().map(|agent| pubkey("agent address", agent)).collect()
    }

    /// Those of some agents that lists show.
    pub async fn listed(&mut self, agents: &[Pubkey]) -> Result<Vec<ListedRow>, StoreError> {
        let agents: Vec<String> = agents.iter().map(Pubkey::to_string).collect();
        let rows = sqlx::query!(
            r#"SELECT address, creator, price, total_executions, trust, success_rate, avg_execution_time_ms, created_at,
                      binding, metadata_hash, name AS "name!", tagline AS "tagline!", tags AS "tags!",
                      EXISTS (SELECT FROM mirror_creators c
                              WHERE c.wallet = creator AND c.verified AND c.closed_at_slot IS NULL) AS "verified!"
               FROM mirror_agents WHERE address = ANY ($1) AND status = agent_status('active')
                   AND closed_at_slot IS NULL AND name IS NOT NULL"#,
            &agents,
        );
        let rows = rows.fetch_all(&mut *self.transaction).await?.into_iter().map(|row| {
            Ok(ListedRow {
                address: pubkey("agent address", &row.address)?,
                creator: row.creator,
                verified: row.verified,
                price: amount_from_db("price", row.price)?,
                total_executions: amount_from_db("total executions", row.total_executions)?,
                trust: amount_from_db("trust", row.trust)?,
                success_rate: row.success_rate,
                avg_execution_time_ms: amount_from_db("mean execution time", row.avg_execution_time_ms)?,
                created_at: row.created_at,
                binding: row.binding,
                metadata_hash: row.metadata_hash,
                name: row.name,
                tagline: row.tagline,
                tags: row.tags,
            })
        });
        rows.collect()
    }

    /// Descriptions of agents with their document's hash. An agent without that document is missing.
    pub async fn descriptions(
        &mut self,
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
        .fetch_all(&mut *self.transaction)
        .await?
        .into_iter()
        .map(|row| Ok((pubkey("agent address", &row.agent)?, row.description)))
        .collect()
    }
}
