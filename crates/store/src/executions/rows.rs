//! Rows of the table `executions`, and how they become [`Execution`]s.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::types::Json;
use uuid::Uuid;

use super::{
    leases::Executions,
    types::{Call, Charged, Delivered, Execution, Failure, Reported, Request, State},
};
use crate::{
    columns::{Base58, Count, Usdc},
    error::StoreError,
};

impl Executions {
    /// The execution with that record.
    pub async fn get(&self, record: &Pubkey) -> Result<Option<Execution>, StoreError> {
        let stored = sqlx::query_as!(
            StoredExecution,
            r#"SELECT record AS "record: Base58", execution_id, caller AS "caller: Base58", agent AS "agent: Base58",
                      session_key AS "session_key: Base58", state AS "state: State", idempotency_key,
                      body_hash AS "body_hash: [u8; 32]", is_async, request AS "request: Json<Request>",
                      request_hash AS "request_hash: [u8; 32]", amount AS "amount: Usdc", timeout_seconds, endpoint,
                      result AS "result: String", result_hash AS "result_hash: [u8; 32]",
                      result_signature AS "result_signature: [u8; 64]",
                      result_call_signature AS "result_call_signature: [u8; 64]", tokens_used AS "tokens_used: Count",
                      execution_time_ms AS "execution_time_ms: Count", steps, charged_amount AS "charged_amount: Usdc",
                      charged_creator_amount AS "charged_creator_amount: Usdc",
                      charged_platform_amount AS "charged_platform_amount: Usdc", settled_elsewhere, failure_reason,
                      error_status, error_code, error_message, created_at, opened_at, dispatched_at, finished_at
               FROM executions WHERE record = $1"#,
            record.to_string(),
        );
        Ok(stored.fetch_optional(self.pool()).await?.map(Execution::from))
    }
}

/// A row as it is selected.
struct StoredExecution {
    record: Pubkey,
    execution_id: Uuid,
    caller: Pubkey,
    agent: Pubkey,
    session_key: Option<Base58>,
    state: State,
    idempotency_key: Option<String>,
    body_hash: [u8; 32],
    is_async: bool,
    request: Json<Request>,
    request_hash: [u8; 32],
    amount: UsdcBase,
    timeout_seconds: i64,
    endpoint: String,
    result: Option<String>,
    result_hash: Option<[u8; 32]>,
    result_signature: Option<[u8; 64]>,
    result_call_signature: Option<[u8; 64]>,
    tokens_used: Option<Count>,
    execution_time_ms: Option<Count>,
    steps: Option<Value>,
    charged_amount: Option<Usdc>,
    charged_creator_amount: Option<Usdc>,
    charged_platform_amount: Option<Usdc>,
    settled_elsewhere: bool,
    failure_reason: Option<i16>,
    error_status: Option<i32>,
    error_code: Option<String>,
    error_message: Option<String>,
    created_at: DateTime<Utc>,
    opened_at: Option<DateTime<Utc>>,
    dispatched_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
}

impl From<StoredExecution> for Execution {
    fn from(mut row: StoredExecution) -> Self {
        let tokens_used = row.tokens_used.map(u64::from);
        let reported = row.execution_time_ms.map(|time| Reported { tokens_used, execution_time_ms: time.into() });
        Self {
            state: row.state,
            delivered: reported.and_then(|reported| row.delivered(reported)),
            failure: row.failure(),
            charged: row.charged(),
            settled_elsewhere: row.settled_elsewhere,
            reported,
            result_hash: row.result_hash,
            created_at: row.created_at,
            opened_at: row.opened_at,
            dispatched_at: row.dispatched_at,
            finished_at: row.finished_at,
            call: Call {
                record: row.record,
                execution_id: row.execution_id,
                caller: row.caller,
                agent: row.agent,
                session_key: row.session_key.map(Pubkey::from),
                idempotency_key: row.idempotency_key,
                body_hash: row.body_hash,
                is_async: row.is_async,
                request: row.request.0,
                request_hash: row.request_hash,
                amount: row.amount,
                timeout_seconds: u32::try_from(row.timeout_seconds).unwrap_or(u32::MAX),
                endpoint: row.endpoint,
            },
        }
    }
}

/// What is known together or not at all.
impl StoredExecution {
    fn delivered(&mut self, Reported { tokens_used, execution_time_ms }: Reported) -> Option<Delivered> {
        let (hash, signature) = self.result_hash.zip(self.result_signature)?;
        Some(Delivered {
            result: self.result.take()?,
            hash,
            signature,
            call_signature: self.result_call_signature,
            tokens_used,
            execution_time_ms,
            steps: self.steps.take(),
        })
    }

    fn charged(&self) -> Option<Charged> {
        Some(Charged {
            amount: self.charged_amount?.into(),
            creator_amount: self.charged_creator_amount?.into(),
            platform_amount: self.charged_platform_amount?.into(),
        })
    }

    fn failure(&mut self) -> Option<Failure> {
        Some(Failure {
            reason: self.failure_reason.and_then(|reason| u8::try_from(reason).ok()),
            status: u16::try_from(self.error_status?).ok()?,
            code: self.error_code.take()?,
            message: self.error_message.take()?,
        })
    }
}
