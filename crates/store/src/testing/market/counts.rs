//! What lists must count, from the source tables and in the plainest SQL: the opposite of how the lists do it.

use chrono::{DateTime, Utc};
use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

/// Which agents a list shows. The default is all.
#[derive(Clone, Debug, Default)]
pub struct AgentCount {
    pub tags: Vec<String>,
    pub min_success_rate: f64,
    pub min_executions: i64,
    pub verified_only: bool,
    pub creator: Option<Pubkey>,
    /// In base units.
    pub max_price: Option<i64>,
    /// A word that stands in the name.
    pub word: Option<&'static str>,
}

impl AgentCount {
    /// # Panics
    /// When the database refuses.
    pub async fn count(&self, pool: &PgPool) -> i64 {
        sqlx::query_scalar(
            "SELECT count(*) FROM mirror_agents a
             WHERE a.status = 1 AND a.closed_at_slot IS NULL AND a.name IS NOT NULL AND a.tags @> $1
               AND a.success_rate >= $2 AND a.total_executions >= $3
               AND (NOT $4 OR a.creator IN (SELECT wallet FROM mirror_creators WHERE verified))
               AND ($5::text IS NULL OR a.creator = $5) AND ($6::bigint IS NULL OR a.price <= $6)
               AND ($7::text IS NULL OR lower(a.name) LIKE '%' || $7 || '%')",
        )
        .bind(&self.tags)
        .bind(self.min_success_rate)
        .bind(self.min_executions)
        .bind(self.verified_only)
        .bind(self.creator.map(|creator| creator.to_string()))
        .bind(self.max_price)
        .bind(self.word)
        .fetch_one(pool)
        .await
        .expect("agents are counted")
    }
}

/// Which executions a list shows.
#[derive(Clone, Debug, Default)]
pub struct ExecutionCount {
    /// Of this wallet: as their caller, or as the creator of their agents, who sees what is on chain.
    pub wallet: Pubkey,
    pub as_creator: bool,
    pub status: Option<&'static str>,
    pub agent: Option<Pubkey>,
    /// Later than this.
    pub from: Option<DateTime<Utc>>,
    /// Earlier than this.
    pub to: Option<DateTime<Utc>>,
}

impl ExecutionCount {
    /// # Panics
    /// When the database refuses.
    pub async fn count(&self, pool: &PgPool) -> i64 {
        sqlx::query_scalar(
            "WITH shown AS (
                 SELECT true AS on_chain, m.caller, m.agent, m.initiated_at,
                        CASE m.status WHEN 2 THEN 'completed' WHEN 5 THEN 'disputed' WHEN 1 THEN
                            CASE WHEN e.state IN ('completed', 'failed') THEN e.state
                                 WHEN e.state IN ('reserved', 'opening', 'pending') THEN 'pending' ELSE 'running' END
                        ELSE 'failed' END AS status
                 FROM mirror_executions m LEFT JOIN executions e ON e.record = m.address
                 UNION ALL
                 SELECT false, e.caller, e.agent, e.created_at,
                        CASE WHEN e.state IN ('completed', 'failed') THEN e.state
                             WHEN e.state IN ('reserved', 'opening', 'pending') THEN 'pending' ELSE 'running' END
                 FROM executions e WHERE NOT EXISTS (SELECT FROM mirror_executions m WHERE m.address = e.record))
             SELECT count(*) FROM shown s
             WHERE CASE WHEN $2 THEN s.on_chain AND s.agent IN (SELECT address FROM mirror_agents WHERE creator = $1)
                        ELSE s.caller = $1 END
               AND ($3::text IS NULL OR s.status = $3) AND ($4::text IS NULL OR s.agent = $4)
               AND ($5::timestamptz IS NULL OR s.initiated_at > $5)
               AND ($6::timestamptz IS NULL OR s.initiated_at < $6)",
        )
        .bind(self.wallet.to_string())
        .bind(self.as_creator)
        .bind(self.status)
        .bind(self.agent.map(|agent| agent.to_string()))
        .bind(self.from)
        .bind(self.to)
        .fetch_one(pool)
        .await
        .expect("executions are counted")
    }
}

/// Some executions of a caller, evenly spread.
///
/// # Panics
/// When the database refuses.
pub async fn execution_ids(pool: &PgPool, caller: &Pubkey, count: i64) -> Vec<Uuid> {
    sqlx::query_scalar("SELECT execution_id FROM mirror_executions WHERE caller = $1 ORDER BY execution_id LIMIT $2")
        .bind(caller.to_string())
        .bind(count)
        .fetch_all(pool)
        .await
        .expect("executions are read")
}
