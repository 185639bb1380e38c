//! How an agent did lately, for its creator: what became of its calls, how long they took, and why the last ones failed.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    Result,
    columns::{Count, Timestamp},
};

/// How an agent did lately, as far as the chain shows it.
// What the API adds is empty in what this module reads: the window and the failures.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AgentHealthResponse {
    /// Address of the listing account.
    pub agent_id: String,
    /// Seconds that the figures cover, by the time at which executions were initiated.
    #[schema(value_type = u32)]
    pub window_seconds: i64,
    /// All executions of this time; those that run are in no other count.
    pub executions: u64,
    /// Results that were paid and not found wrong, also while they are disputed.
    pub completed: u64,
    /// Executions that were refunded for whatever reason, and upheld disputes.
    pub failed: u64,
    /// 0.0 to 1.0, as in the metrics of the listing: completed without an upheld dispute, of completed and failed by the
    /// agent. null before the first.
    #[schema(required)]
    pub success_rate: Option<f64>,
    /// Half of the completed executions that the gateway settled took at most this time.
    #[schema(required, value_type = Option<u64>)]
    pub p50_ms: Option<Count>,
    /// 95 of 100 of them took at most this time.
    #[schema(required, value_type = Option<u64>)]
    pub p95_ms: Option<Count>,
    /// The newest 20 that were refunded, of the last 30 days.
    #[schema(value_type = Vec<AgentFailure>)]
    pub failures: Json<Vec<AgentFailure>>,
}

/// Whether the wallet listed this agent.
pub async fn lists_agent(db: impl PgExecutor<'_>, creator: &Pubkey, agent: &Pubkey) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM mirror_agents WHERE address = $2 AND creator = $1) AS "found!""#,
        creator.to_string(),
        agent.to_string(),
    );
    Ok(found.fetch_one(db).await?)
}

/// The figures of the executions of a creator's agent that were initiated at `since` or later, as far as the chain shows them.
pub async fn agent_health(
    db: impl PgExecutor<'_>,
    creator: &Pubkey,
    agent: &Pubkey,
    since: DateTime<Utc>,
) -> Result<AgentHealthResponse> {
    // Rates and times are those of `AgentMetrics`.
    let health = sqlx::query_as!(
        AgentHealthResponse,
        r#"SELECT $2::text AS "agent_id!", 0::bigint AS "window_seconds!", f.executions AS "executions!: Count",
                  f.completed AS "completed!: Count", f.failed AS "failed!: Count",
                  (f.settled - f.overturned)::float8 / NULLIF(f.settled + f.agents_failures, 0) AS success_rate,
                  f.p50 AS "p50_ms: Count", f.p95 AS "p95_ms: Count",
                  '[]'::jsonb AS "failures!: Json<Vec<AgentFailure>>"
           FROM (
               SELECT count(*) AS executions,
                      count(*) FILTER (WHERE l.status IN (listed_status('completed'), listed_status('disputed')))
                          AS completed,
                      count(*) FILTER (WHERE l.status = listed_status('failed')) AS failed,
                      count(*) FILTER (WHERE is_settled(m.status)) AS settled,
                      count(*) FILTER (WHERE m.status = record_status('overturned')) AS overturned,
                      count(*) FILTER (WHERE m.agents_failure) AS agents_failures,
                      percentile_disc(0.5) WITHIN GROUP (ORDER BY m.execution_time_ms)
                          FILTER (WHERE is_settled(m.status) AND m.settled_by = settler('gateway')) AS p50,
                      percentile_disc(0.95) WITHIN GROUP (ORDER BY m.execution_time_ms)
                          FILTER (WHERE is_settled(m.status) AND m.settled_by = settler('gateway')) AS p95
               FROM unnest('{0, 1, 2, 3, 4}'::int2[]) AS s (status)
               CROSS JOIN LATERAL (
                   SELECT record, status FROM execution_list
                   WHERE creator = $1 AND agent = $2 AND status = s.status AND initiated_at >= $3) AS l
               LEFT JOIN LATERAL (
                   SELECT status, agents_failure, settled_by, execution_time_ms FROM mirror_executions
                   WHERE address = l.record OFFSET 0) AS m ON true) AS f"#,
        creator.to_string(),
        agent.to_string(),
        since,
    );
    Ok(health.fetch_one(db).await?)
}

/// An execution that failed.
// What the API adds is empty in what this module reads: code and message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentFailure {
    pub execution_id: Uuid,
    pub initiated_at: Timestamp,
    /// Of the error in the record of the execution.
    pub code: String,
    /// For people; do not parse it.
    pub message: String,
    /// As in `ExecutionDetails`.
    #[serde(skip)]
    pub error_code: Option<String>,
    #[serde(skip)]
    pub error_message: Option<String>,
    #[serde(skip)]
    pub failure_reason: Option<i16>,
}

/// The newest executions of a creator's agent that were refunded, of those initiated at `since` or later.
pub async fn agent_failures(
    db: impl PgExecutor<'_>,
    creator: &Pubkey,
    agent: &Pubkey,
    since: DateTime<Utc>,
    limit: u32,
) -> Result<Vec<AgentFailure>> {
    // An upheld dispute is shown as a failure, too; its result was delivered.
    let failures = sqlx::query_as!(
        AgentFailure,
        r#"SELECT l.execution_id, l.initiated_at AS "initiated_at: Timestamp", '' AS "code!", '' AS "message!",
                  e.error_code AS "error_code?", e.error_message AS "error_message?",
                  m.failure_reason AS "failure_reason?"
           FROM execution_list l
           CROSS JOIN LATERAL (
               SELECT status, failure_reason FROM mirror_executions WHERE address = l.record OFFSET 0) AS m
           LEFT JOIN LATERAL (
               SELECT error_code, error_message FROM executions WHERE record = l.record OFFSET 0) AS e ON true
           WHERE l.creator = $1 AND l.agent = $2 AND l.status = listed_status('failed') AND l.initiated_at >= $3
             AND m.status <> record_status('overturned')
           ORDER BY l.initiated_at DESC, l.execution_id DESC, l.record DESC
           LIMIT $4"#,
        creator.to_string(),
        agent.to_string(),
        since,
        i64::from(limit),
    );
    Ok(failures.fetch_all(db).await?)
}
