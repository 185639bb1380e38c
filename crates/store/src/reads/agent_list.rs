//! What the list of agents is built from: the agents that changed since an earlier snapshot, or all.
//!
//! A snapshot is a transaction that sees one state of the database. It has a text form, PostgreSQL's `pg_snapshot`, and a
//! later snapshot finds every row whose transaction the earlier one did not see, even if that transaction began long before
//! and committed late.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::{PgPool, Postgres, Transaction, types::Json};
use utoipa::ToSchema;

use super::agents::{ListingStatus, ListingStatusName};
use crate::{
    Result,
    columns::{Base58, Count, Usdc},
    transaction,
};

/// A transaction that sees one state of the database.
pub struct AgentListSnapshot {
    pub(crate) transaction: Transaction<'static, Postgres>,
    pub head: AgentListHead,
}

/// What a snapshot says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentListHead {
    /// Which transactions the snapshot sees: the argument of later ones.
    pub seen: String,
    /// The first transaction that was not begun. It only grows, unless the database was replaced.
    pub next_transaction: u64,
    /// The slot that the mirror has reached.
    pub slot: Option<Count>,
}

/// An agent in a list.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AgentSummary {
    #[serde(skip)]
    pub address: Pubkey,
    /// Address of the listing account.
    pub agent_id: String,
    pub name: String,
    /// One sentence.
    pub tagline: String,
    /// Capability tags.
    pub tags: Vec<String>,
    /// Whether each result is signed for its call, so that no signature settles another call.
    pub binding: bool,
    /// Price of one execution.
    #[schema(value_type = f64)]
    pub price_per_call_usdc: UsdcBase,
    /// Finished executions: completed and failed. Expired ones are not counted.
    pub total_executions: u64,
    /// The platform fees that were paid for results that stand: of one call at most 0.10 USDC, of one wallet at most 1
    /// USDC, and nothing of the wallets of admin, treasury and insurance. As far as this index has seen them.
    #[schema(value_type = f64)]
    pub trust_usdc: UsdcBase,
    /// 0.0 to 1.0: successful of total; 0 before the first.
    pub success_rate: f64,
    /// Mean over the completed executions that the gateway settled; 0 before the first.
    pub avg_execution_time_ms: u64,
    #[schema(value_type = CreatorSummary)]
    pub creator: Json<CreatorSummary>,
    #[schema(value_type = ListingStatusName)]
    pub status: ListingStatus,
    #[serde(skip)]
    pub created_at: DateTime<Utc>,
    /// Says which document the texts are from.
    #[serde(skip)]
    pub metadata_hash: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatorSummary {
    pub pubkey: String,
    /// Whether the marketplace has checked the creator's identity.
    pub verified: bool,
}

impl AgentListSnapshot {
    pub async fn begin(pool: &PgPool) -> Result<Self> {
        let mut transaction = transaction::begin(pool).await?;
        // Few rows of a large table: without statistics the planner would read all of them.
        let settings = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off;
                        SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";
        sqlx::raw_sql(settings).execute(&mut *transaction).await?;
        let head = sqlx::query_as!(
            AgentListHead,
            r#"SELECT pg_current_snapshot()::text AS "seen!",
                      pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS "next_transaction!: Count",
                      (SELECT slot FROM mirror_checkpoint) AS "slot: Count""#
        );
        let head = head.fetch_one(&mut *transaction).await?;
        Ok(Self { transaction, head })
    }

    pub async fn end(self) -> Result<()> {
        Ok(self.transaction.commit().await?)
    }

    /// The agents with a change that the snapshot `seen` did not see, of their own or of their creator; in no order, and
    /// some twice. Agents that are gone are among them. `None`: all agents.
    pub async fn changed(&mut self, seen: Option<&str>) -> Result<Vec<Pubkey>> {
        // Before the first transaction nothing was seen. `OFFSET 0`: agents are found for each creator that changed.
        let agents = sqlx::query!(
            r#"SELECT agent AS "agent!: Base58" FROM mirror_agent_changes
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
        Ok(agents.into_iter().map(|row| row.agent.into()).collect())
    }

    /// Those of some agents that lists show.
    pub async fn listed(&mut self, agents: &[Pubkey]) -> Result<Vec<AgentSummary>> {
        let agents: Vec<String> = agents.iter().map(Pubkey::to_string).collect();
        let rows = sqlx::query_as!(
            AgentSummary,
            r#"SELECT address AS "address!: Base58", address AS agent_id, name AS "name!", tagline AS "tagline!",
                      tags AS "tags!", binding, price AS "price_per_call_usdc!: Usdc",
                      total_executions AS "total_executions!: Count", COALESCE(agent_trust(address), 0) AS "trust_usdc!: Usdc", success_rate,
                      avg_execution_time_ms AS "avg_execution_time_ms!: Count",
                      jsonb_build_object('pubkey', creator, 'verified', EXISTS (
                          SELECT FROM mirror_creators c
                          WHERE c.wallet = creator AND c.verified AND c.closed_at_slot IS NULL))
                          AS "creator!: Json<CreatorSummary>",
                      status AS "status!: ListingStatus", created_at, metadata_hash
               FROM mirror_agents WHERE address = ANY ($1) AND status = agent_status('active')
                   AND closed_at_slot IS NULL AND name IS NOT NULL"#,
            &agents,
        );
        Ok(rows.fetch_all(&mut *self.transaction).await?)
    }

    /// Descriptions of agents with their document's hash. An agent without that document is missing.
    pub async fn descriptions(&mut self, agents: &[Pubkey], hashes: &[Vec<u8>]) -> Result<Vec<(Pubkey, String)>> {
        let agents: Vec<String> = agents.iter().map(Pubkey::to_string).collect();
        let texts = sqlx::query!(
            r#"SELECT m.agent AS "agent!: Base58", COALESCE(m.document ->> 'description', '') AS "description!"
               FROM unnest($1::text[], $2::bytea[]) AS wanted (agent, sha256)
               JOIN agent_metadata m ON m.agent = wanted.agent AND m.sha256 = wanted.sha256 AND m.error IS NULL"#,
            &agents,
            hashes,
        );
        let texts = texts.fetch_all(&mut *self.transaction).await?.into_iter();
        Ok(texts.map(|row| (row.agent.into(), row.description)).collect())
    }
}
