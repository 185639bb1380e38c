//! Executions as their caller sees them, each alone: the view `shown_executions`. One statement answers several questions.
//! And the newest ones of an agent, as everybody sees them.

use agent_marketplace::state::Settler;
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{PgExecutor, types::Json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{disputes::DisputeStatus, execution_list::ShownStatus};
use crate::{
    columns::{Base58, Count, Timestamp, Usdc, base_units},
    error::StoreError,
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

/// An execution with its result.
#[derive(Clone, Debug)]
pub struct ExecutionDetails {
    /// Of the question that it answers, from 1 on.
    place: i64,
    pub execution_id: Uuid,
    pub record: Pubkey,
    pub agent: String,
    /// The agent's address if none of its documents is known.
    pub agent_name: String,
    pub status: ShownStatus,
    pub cost: UsdcBase,
    pub initiated_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub creator_amount: UsdcBase,
    pub platform_amount: UsdcBase,
    /// Shown once it is paid for, if a gateway of this deployment made the call.
    pub result: Option<String>,
    pub result_hash: Option<[u8; 32]>,
    pub tokens_used: Option<Count>,
    pub execution_time_ms: Option<Count>,
    /// `None` unless a settlement is on chain.
    pub settled_by: Option<SettledBy>,
    /// Whether the result is signed for this call; `None` before the record is on chain.
    pub binding: Option<bool>,
    pub steps: Option<Value>,
    /// The answer to the caller if it failed, whether or not it was received.
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    /// The number of the reason on chain. `None`: no escrow was opened.
    pub failure_reason: Option<i16>,
    pub dispute: Option<Json<ExecutionDispute>>,
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

/// One execution of that wallet. `None` for another wallet's execution with the same UUID.
pub async fn execution(
    executor: impl PgExecutor<'_>,
    caller: &Pubkey,
    execution_id: &Uuid,
) -> Result<Option<ExecutionDetails>, StoreError> {
    let question = ExecutionQuestion { wallet: *caller, execution_id: *execution_id };
    Ok(executions(executor, &[question]).await?.pop().flatten())
}

/// The answers to several questions, in their order, all of one moment. `None`: the wallet has no such execution.
pub async fn executions(
    executor: impl PgExecutor<'_>,
    questions: &[ExecutionQuestion],
) -> Result<Vec<Option<ExecutionDetails>>, StoreError> {
    let wallets: Vec<String> = questions.iter().map(|question| question.wallet.to_string()).collect();
    let ids: Vec<Uuid> = questions.iter().map(|question| question.execution_id).collect();
    // `LIMIT 1`: found once for each question, by an index. A result is stored as bytes, because it may contain U+0000.
    let found = sqlx::query_as!(
        ExecutionDetails,
        r#"SELECT q.place AS "place!", x.execution_id AS "execution_id!", x.record AS "record!: Base58",
                  x.agent AS "agent!",
                  COALESCE((SELECT a.name FROM mirror_agents a WHERE a.address = x.agent), (
                      SELECT m.name FROM agent_metadata m LEFT JOIN mirror_agents a ON a.address = m.agent
                      WHERE m.agent = x.agent AND m.error IS NULL
                      ORDER BY (m.sha256 = a.metadata_hash) DESC NULLS LAST, m.fetched_at DESC LIMIT 1), x.agent)
                  AS "agent_name!",
                  listed_status(x.status) AS "status!: ShownStatus", x.cost AS "cost!: Usdc",
                  x.initiated_at AS "initiated_at!: Timestamp", x.completed_at AS "completed_at?: Timestamp",
                  x.creator_amount AS "creator_amount!: Usdc", x.platform_amount AS "platform_amount!: Usdc",
                  x.result AS "result?: String", x.result_hash AS "result_hash?: [u8; 32]",
                  x.tokens_used AS "tokens_used?: Count", x.execution_time_ms AS "execution_time_ms?: Count",
                  x.settled_by AS "settled_by?: SettledBy", x.binding, x.steps, x.error_code, x.error_message,
                  x.failure_reason,
                  x.dispute AS "dispute?: Json<ExecutionDispute>"
           FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS q (wallet, execution_id, place)
           CROSS JOIN LATERAL (
               SELECT * FROM shown_executions s WHERE s.caller = q.wallet AND s.execution_id = q.execution_id LIMIT 1)
               AS x"#,
        &wallets,
        &ids,
    )
    .fetch_all(executor)
    .await?;
    let mut answers = vec![None; questions.len()];
    for execution in found {
        let place = usize::try_from(execution.place).ok().and_then(|place| place.checked_sub(1));
        if let Some(answer) = place.and_then(|place| answers.get_mut(place)) {
            *answer = Some(execution);
        }
    }
    Ok(answers)
}

/// An execution as the chain shows it to everybody.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RecentExecution {
    /// Address of the on-chain record.
    record: String,
    status: ShownStatus,
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
    executor: impl PgExecutor<'_>,
    agent: &Pubkey,
    limit: u32,
    link: &str,
) -> Result<Vec<RecentExecution>, StoreError> {
    let executions = sqlx::query_as!(
        RecentExecution,
        r#"SELECT l.record AS "record!", replace($3, '{address}', l.record) AS "on_chain_record!",
                  l.status AS "status!: ShownStatus", l.cost AS "cost_usdc!: Usdc",
                  l.initiated_at AS "initiated_at!: Timestamp", l.completed_at AS "completed_at?: Timestamp",
                  m.execution_time_ms AS "execution_time_ms?: Count"
           FROM generate_series(0, 4) AS s (status)
           CROSS JOIN LATERAL (
               SELECT e.record, e.execution_id, e.status, e.cost, e.initiated_at, e.completed_at
               FROM execution_list e
               WHERE e.agent = $1 AND e.status = s.status::smallint AND e.on_chain
               ORDER BY e.initiated_at DESC, e.execution_id DESC, e.record DESC
               LIMIT $2) AS l
           LEFT JOIN mirror_executions m ON m.address = l.record AND m.result_hash IS NOT NULL
           ORDER BY l.initiated_at DESC, l.execution_id DESC, l.record DESC
           LIMIT $2"#,
        agent.to_string(),
        i64::from(limit),
        link,
    );
    Ok(executions.fetch_all(executor).await?)
}
