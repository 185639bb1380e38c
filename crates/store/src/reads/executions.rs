//! Executions as their caller sees them, each alone: the view `shown_executions`. One statement answers several questions.
//! And the newest ones of an agent, as everybody sees them.

use agent_marketplace::state::{FailureReason, Settler};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{disputes::DisputeStatus, execution_list::ShownStatus};
use crate::{
    Result,
    columns::{Base58, Count, Timestamp, Usdc, base_units},
};

/// Who submitted the settlement of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[repr(i16)]
pub enum SettledBy {
    Caller = Settler::Caller as i16,
    Creator = Settler::Creator as i16,
    Gateway = Settler::Gateway as i16,
}

/// A full execution. A value that does not exist (yet) is null; `tokens_used`, `steps`, `error` and `dispute` are left
/// out instead.
// What the API adds is empty in what this module reads: the links and `error`.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ExecutionResponse)]
pub struct ExecutionDetails {
    /// Of the question that it answers, from 1 on.
    #[serde(skip)]
    pub place: i64,
    pub execution_id: Uuid,
    #[serde(skip)]
    pub record: Pubkey,
    pub agent_id: String,
    // Its address if none of its documents is known.
    pub agent_name: String,
    pub status: ShownStatus,
    /// The agent's output. null until it is paid for, and while nobody has stored it here: a result that was settled
    /// without this service appears as soon as its content is put to `ipfs_url`.
    #[schema(required)]
    pub result: Option<String>,
    /// `sha256:` and the hex SHA-256 of the result; committed on chain.
    #[schema(required)]
    pub result_hash: Option<String>,
    #[schema(value_type = f64)]
    pub cost_usdc: UsdcBase,
    /// Part paid to the creator.
    #[schema(value_type = f64)]
    pub creator_amount_usdc: UsdcBase,
    /// Part kept by the marketplace.
    #[schema(value_type = f64)]
    pub platform_amount_usdc: UsdcBase,
    /// Only if reported by the creator's service.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    pub tokens_used: Option<Count>,
    /// From dispatch to delivery.
    #[schema(required, value_type = Option<u64>)]
    pub execution_time_ms: Option<Count>,
    /// `caller`, `creator` or `gateway`: who submitted the settlement. null unless it is on chain.
    #[schema(required, value_type = Option<String>)]
    pub settled_by: Option<SettledBy>,
    /// Whether the result is signed for this execution. null before the record is on chain.
    #[schema(required)]
    pub binding: Option<bool>,
    pub initiated_at: Timestamp,
    #[schema(required)]
    pub completed_at: Option<Timestamp>,
    pub on_chain_record: String,
    /// URL of the full result.
    #[schema(required)]
    pub ipfs_url: Option<String>,
    /// The creator's reasoning trace, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Value>>)]
    pub steps: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExecutionFailure>)]
    pub error: Option<Json<ExecutionFailure>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ExecutionDispute>)]
    pub dispute: Option<Json<ExecutionDispute>>,
    /// The answer to the caller if it failed, whether or not it was received.
    #[serde(skip)]
    pub error_code: Option<String>,
    #[serde(skip)]
    pub error_message: Option<String>,
    /// The number of the reason on chain. `None`: no escrow was opened.
    #[serde(skip)]
    pub failure_reason: Option<i16>,
}

/// Why an execution failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExecutionFailure {
    pub code: String,
    pub message: String,
}

/// The dispute about an execution.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ExecutionDispute {
    /// `expired`: nobody decided within 30 days.
    #[serde(deserialize_with = "DisputeStatus::by_number")]
    pub status: DisputeStatus,
    pub raised_at: Timestamp,
    #[schema(required)]
    pub resolved_at: Option<Timestamp>,
    /// SHA-256 of the evidence document: `sha256:` and hex.
    pub evidence_hash: String,
    pub evidence_uri: String,
    /// SHA-256 of the document of the creator's answer. null before there is one, like its URI and time.
    #[schema(required)]
    pub answer_hash: Option<String>,
    #[schema(required)]
    pub answer_uri: Option<String>,
    #[schema(required)]
    pub answered_at: Option<Timestamp>,
    /// What the caller got back.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub compensation_usdc: UsdcBase,
    /// What the collateral paid to the insurance beyond the compensation.
    #[schema(value_type = f64)]
    #[serde(deserialize_with = "base_units")]
    pub penalty_usdc: UsdcBase,
}

/// One question for an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionQuestion {
    /// Whose execution it is, as a caller.
    pub wallet: Pubkey,
    pub execution_id: Uuid,
}

/// The answers to several questions, in their order, all of one moment. `None`: the wallet has no such execution.
pub async fn executions(
    db: impl PgExecutor<'_>,
    questions: &[ExecutionQuestion],
) -> Result<Vec<Option<ExecutionDetails>>> {
    let wallets: Vec<String> = questions.iter().map(|question| question.wallet.to_string()).collect();
    let ids: Vec<Uuid> = questions.iter().map(|question| question.execution_id).collect();
    // `LIMIT 1`: found once for each question, by an index; the newest if its record was opened again. A result is stored as bytes, because it may contain U+0000.
    let found = sqlx::query_as!(
        ExecutionDetails,
        r#"SELECT q.place AS "place!", x.execution_id AS "execution_id!", x.record AS "record!: Base58",
                  x.agent AS "agent_id!",
                  COALESCE((SELECT a.name FROM mirror_agents a WHERE a.address = x.agent), (
                      SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                      WHERE m.agent = x.agent AND m.error IS NULL
                      ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1), x.agent)
                  AS "agent_name!",
                  listed_status(x.status) AS "status!: ShownStatus", x.cost AS "cost_usdc!: Usdc",
                  x.initiated_at AS "initiated_at!: Timestamp", x.completed_at AS "completed_at?: Timestamp",
                  x.creator_amount AS "creator_amount_usdc!: Usdc",
                  x.platform_amount AS "platform_amount_usdc!: Usdc",
                  x.result AS "result?: String", 'sha256:' || encode(x.result_hash, 'hex') AS "result_hash?",
                  x.tokens_used AS "tokens_used?: Count", x.execution_time_ms AS "execution_time_ms?: Count",
                  x.settled_by AS "settled_by?: SettledBy", x.binding, x.steps, x.error_code, x.error_message,
                  x.failure_reason, x.dispute AS "dispute?: Json<ExecutionDispute>",
                  '' AS "on_chain_record!", NULL AS ipfs_url, NULL::jsonb AS "error: Json<ExecutionFailure>"
           FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS q (wallet, execution_id, place)
           CROSS JOIN LATERAL (
               SELECT * FROM shown_executions s WHERE s.caller = q.wallet AND s.execution_id = q.execution_id
               ORDER BY s.initiated_at DESC LIMIT 1) AS x"#,
        &wallets,
        &ids,
    );
    let found = found.fetch_all(db).await?;
    let mut answers = vec![None; questions.len()];
    for execution in found {
        let place = usize::try_from(execution.place).ok().and_then(|place| place.checked_sub(1));
        if let Some(answer) = place.and_then(|place| answers.get_mut(place)) {
            *answer = Some(execution);
        }
    }
    Ok(answers)
}

/// What became of an execution, for everybody.
#[derive(Clone, Copy, Debug, Serialize, sqlx::Type, ToSchema)]
#[serde(rename_all = "snake_case")]
#[repr(i16)]
pub enum RecentStatus {
    // Their numbers: the SQL function `listed_status`, and one more.
    Pending = 0,
    Running = 1,
    Completed = 2,
    Failed = 3,
    Disputed = 4,
    Expired = 5,
}

/// Why an execution was refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::FromRepr, sqlx::Type, ToSchema)]
#[serde(rename_all = "snake_case")]
#[repr(i16)]
pub enum RefundReason {
    CreatorFailed = FailureReason::CreatorFailed as i16,
    Timeout = FailureReason::Timeout as i16,
    InvalidResponse = FailureReason::InvalidResponse as i16,
    Expired = FailureReason::Expired as i16,
    Interrupted = FailureReason::Interrupted as i16,
}

/// An execution as the chain shows it to everybody.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecentExecution {
    /// Address of the on-chain record.
    record: String,
    status: RecentStatus,
    /// What the gateway or the creator reported. `expired` and `interrupted` are nobody's failure. null unless refunded.
    #[schema(required)]
    failure_reason: Option<RefundReason>,
    #[schema(value_type = f64)]
    cost_usdc: UsdcBase,
    initiated_at: Timestamp,
    /// null while it runs.
    #[schema(required)]
    completed_at: Option<Timestamp>,
    /// null unless a result was settled.
    #[schema(required, value_type = Option<u64>)]
    execution_time_ms: Option<Count>,
    /// The record on the chain explorer.
    on_chain_record: String,
}

/// The newest executions of an agent. `link`: the explorer's URL of an account, with `{address}` in it.
pub async fn recent_executions(
    db: impl PgExecutor<'_>,
    agent: &Pubkey,
    limit: u32,
    link: &str,
) -> Result<Vec<RecentExecution>> {
    let executions = sqlx::query_as!(
        RecentExecution,
        r#"SELECT key_address(l.record) AS "record!",
                  replace($3, '{address}', key_address(l.record)) AS "on_chain_record!",
                  CASE WHEN m.status = record_status('expired') THEN 5::smallint ELSE l.status END
                      AS "status!: RecentStatus",
                  m.failure_reason AS "failure_reason?: RefundReason", l.cost AS "cost_usdc!: Usdc",
                  l.initiated_at AS "initiated_at!: Timestamp", l.completed_at AS "completed_at?: Timestamp",
                  CASE WHEN m.result_hash IS NOT NULL THEN m.execution_time_ms END AS "execution_time_ms?: Count"
           FROM generate_series(0, 4) AS s (status)
           CROSS JOIN LATERAL (
               SELECT e.record, e.execution_id, e.status, e.cost, e.initiated_at, e.completed_at
               FROM execution_list e
               WHERE e.agent = $1 AND e.status = s.status::smallint AND e.on_chain
               ORDER BY e.initiated_at DESC, e.execution_id DESC, e.record DESC
               LIMIT $2) AS l
           LEFT JOIN mirror_executions m ON m.address = l.record
           ORDER BY l.initiated_at DESC, l.execution_id DESC, l.record DESC
           LIMIT $2"#,
        agent.to_string(),
        i64::from(limit),
        link,
    );
    Ok(executions.fetch_all(db).await?)
}
