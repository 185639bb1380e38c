//! What the executions of a wallet in a time range come to, in groups: by day, key, agent or status.
//!
//! The rows of the range are found by the indexes of `execution_list`, and their amounts are those of the records.

use chrono::{DateTime, NaiveDate, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use solana_pubkey::Pubkey;
use sqlx::PgExecutor;
use utoipa::ToSchema;

use super::execution_list::{ExecutionRole, ShownStatus};
use crate::{
    Result, StoreError,
    columns::{Count, Usdc},
};

/// Groups in one answer.
const MOST_GROUPS: usize = 1_000;

/// What the executions of a group have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr)]
#[schema(as = ExecutionTotalsGroupingName, default = "day")]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum TotalsBy {
    /// The day (UTC) on which they were initiated.
    #[default]
    Day,
    /// The API key that opened them.
    Key,
    Agent,
    Status,
}

/// Which executions to add up, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotalsQuestion {
    pub wallet: Pubkey,
    pub role: ExecutionRole,
    pub by: TotalsBy,
    pub agent: Option<Pubkey>,
    /// Initiated at this time or later.
    pub from: DateTime<Utc>,
    /// Initiated before this time.
    pub to: Option<DateTime<Utc>>,
}

/// What some executions come to. Of `day`, `session_public_key`, `agent_id` and `status` it has what they are grouped by.
// What the API adds is empty in what this module reads: the agent's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ExecutionTotals {
    #[schema(required, value_type = Option<String>, format = Date, example = "2026-11-21")]
    pub day: Option<NaiveDate>,
    /// With `by=key`, null: the wallet opened them itself, or another deployment did.
    #[schema(required)]
    pub session_public_key: Option<String>,
    #[schema(required)]
    pub agent_id: Option<String>,
    #[schema(required)]
    pub agent_name: Option<String>,
    #[schema(required)]
    pub status: Option<ShownStatus>,
    /// All of them; those that are pending or running are in no other count.
    pub executions: u64,
    pub completed: u64,
    pub failed: u64,
    pub disputed: u64,
    /// What callers paid: escrows that were released.
    #[schema(value_type = f64)]
    pub paid_usdc: UsdcBase,
    /// Part paid to creators.
    #[schema(value_type = f64)]
    pub creator_usdc: UsdcBase,
    /// Part kept by the marketplace.
    #[schema(value_type = f64)]
    pub platform_usdc: UsdcBase,
    /// Escrows that went back to their callers. They are not among what was paid.
    #[schema(value_type = f64)]
    pub refunded_usdc: UsdcBase,
    /// What disputes gave back of what was paid.
    #[schema(value_type = f64)]
    pub compensation_usdc: UsdcBase,
}

/// The groups, and all together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupedTotals {
    /// Days in their order, others by what was paid, largest first.
    pub groups: Vec<ExecutionTotals>,
    pub total: ExecutionTotals,
    /// Whether there are more groups. The total counts them, too.
    pub truncated: bool,
}

/// Adds the executions of a wallet up. Amounts are by the rules of `shown_executions`; `OFFSET 0` looks each record up by
/// its key. A record that has ended says everything but the key, so the row of the gateway is read only for the others.
pub async fn execution_totals(db: impl PgExecutor<'_>, question: &TotalsQuestion) -> Result<GroupedTotals> {
    let rows = sqlx::query_as!(
        ExecutionTotals,
        r#"SELECT g.day, g.session_key AS session_public_key, g.agent AS agent_id, NULL::text AS agent_name,
                  g.status AS "status: ShownStatus",
                  count(*) AS "executions!: Count",
                  count(*) FILTER (WHERE g.listed = listed_status('completed')) AS "completed!: Count",
                  count(*) FILTER (WHERE g.listed = listed_status('failed')) AS "failed!: Count",
                  count(*) FILTER (WHERE g.listed = listed_status('disputed')) AS "disputed!: Count",
                  LEAST(COALESCE(sum(g.creator) + sum(g.platform), 0), 9223372036854775807)::bigint AS "paid_usdc!: Usdc",
                  LEAST(COALESCE(sum(g.creator), 0), 9223372036854775807)::bigint AS "creator_usdc!: Usdc",
                  LEAST(COALESCE(sum(g.platform), 0), 9223372036854775807)::bigint AS "platform_usdc!: Usdc",
                  LEAST(COALESCE(sum(g.refunded), 0), 9223372036854775807)::bigint AS "refunded_usdc!: Usdc",
                  LEAST(COALESCE(sum(g.compensation), 0), 9223372036854775807)::bigint AS "compensation_usdc!: Usdc"
           FROM (
               SELECT CASE WHEN $6 = 'day' THEN utc_day(l.initiated_at) END AS day,
                      CASE WHEN $6 = 'key' THEN e.session_key END AS session_key,
                      CASE WHEN $6 = 'agent' THEN l.agent END AS agent,
                      CASE WHEN $6 = 'status' THEN l.status END AS status,
                      l.status AS listed,
                      CASE WHEN is_settled(m.status) OR e.state = 'completed'
                           THEN COALESCE(m.creator_amount, e.charged_creator_amount, 0) ELSE 0 END AS creator,
                      CASE WHEN is_settled(m.status) OR e.state = 'completed'
                           THEN COALESCE(m.platform_amount, e.charged_platform_amount, 0) ELSE 0 END AS platform,
                      CASE WHEN is_refunded(m.status) THEN m.amount
                           -- The gateway has refunded it, and the mirror does not show it yet.
                           WHEN e.state = 'failed' AND e.failure_reason IS NOT NULL
                           THEN COALESCE(m.amount, e.charged_amount, e.amount) ELSE 0 END AS refunded,
                      CASE WHEN m.status = record_status('overturned') THEN m.amount - l.cost ELSE 0 END AS compensation
               FROM unnest('{0, 1, 2, 3, 4}'::int2[]) AS s (status)
               CROSS JOIN LATERAL (
                   SELECT r.record, r.agent, r.status, r.cost, r.initiated_at FROM execution_list_rows r
                   WHERE r.role = $1 AND r.owner = $2 AND r.of_agent = $3 AND r.status = s.status
                     AND r.initiated_at >= $4 AND r.initiated_at < COALESCE($5::timestamptz, 'infinity')) AS l
               LEFT JOIN LATERAL (
                   SELECT status, amount, creator_amount, platform_amount FROM mirror_executions
                   WHERE address = l.record OFFSET 0) AS m ON true
               LEFT JOIN LATERAL (
                   SELECT session_key, state, failure_reason, amount, charged_amount, charged_creator_amount,
                          charged_platform_amount
                   FROM executions
                   WHERE record = CASE WHEN $6 = 'key' OR COALESCE(m.status = record_status('open'), true)
                                       THEN l.record END
                   OFFSET 0) AS e ON true) AS g
           GROUP BY GROUPING SETS ((g.day, g.session_key, g.agent, g.status), ())
           ORDER BY grouping(g.day) DESC, g.day, sum(g.creator) + sum(g.platform) DESC, count(*) DESC, g.session_key,
                    g.agent, g.status
           LIMIT $7"#,
        i16::from(question.role == ExecutionRole::Creator),
        question.wallet.to_string(),
        question.agent.map(|agent| agent.to_string()).unwrap_or_default(),
        question.from,
        question.to as Option<DateTime<Utc>>,
        question.by.into_str(),
        // The total, and one more group than is shown.
        i64::try_from(MOST_GROUPS).unwrap_or(i64::MAX).saturating_add(2),
    );
    // The empty grouping set always has its row, and it is sorted first.
    let mut rows = rows.fetch_all(db).await?.into_iter();
    let total = rows.next().ok_or_else(|| StoreError::corrupt("totals of executions", "there is no total"))?;
    let mut groups: Vec<ExecutionTotals> = rows.collect();
    let truncated = groups.len() > MOST_GROUPS;
    groups.truncate(MOST_GROUPS);
    Ok(GroupedTotals { groups, total, truncated })
}
