//! Rows of the table `executions`, and how they become [`StoredExecution`]s.

use solana_pubkey::Pubkey;
use sqlx::types::Json;

use uuid::Uuid;

use super::{
    leases::Executions,
    types::{Call, CallRequest, Charged, Delivered, Failure, Reported, State, StoredExecution},
};
use crate::{
    Result,
    columns::{Base58, Count, Usdc},
};

impl Executions {
    /// The execution with that record.
    pub async fn get(&self, record: &Pubkey) -> Result<Option<StoredExecution>> {
        self.read(&record.to_string()).await
    }

    /// The last execution of the wallet with this id: of those that the wallet handed over, or of those of its keys, if
    /// there are some.
    pub async fn last(&self, wallet: &Pubkey, id: &Uuid, handed_over: bool) -> Result<Option<StoredExecution>> {
        let key = sqlx::query_scalar!(
            "SELECT record FROM executions WHERE caller = $1 AND execution_id = $2
             ORDER BY (session_key IS NULL) <> $3, created_at DESC LIMIT 1",
            wallet.to_string(),
            id,
            handed_over,
        );
        let Some(key) = key.fetch_optional(self.pool()).await? else { return Ok(None) };
        self.read(&key).await
    }

    /// The row with that key.
    async fn read(&self, key: &str) -> Result<Option<StoredExecution>> {
        let stored = sqlx::query!(
            r#"SELECT record AS "record: Base58", execution_id, caller AS "caller: Base58", agent AS "agent: Base58",
                      session_key AS "session_key: Base58", state AS "state: State", idempotency_key,
                      body_hash AS "body_hash: [u8; 32]", is_async, request AS "request: Json<CallRequest>",
                      request_hash AS "request_hash: [u8; 32]", amount AS "amount: Usdc", timeout_seconds, endpoint,
                      result AS "result: String", result_hash AS "result_hash: [u8; 32]",
                      result_signature AS "result_signature: [u8; 64]",
                      result_call_signature AS "result_call_signature: [u8; 64]", tokens_used AS "tokens_used: Count",
                      execution_time_ms AS "execution_time_ms: Count", steps, charged_amount AS "charged_amount: Usdc",
                      charged_creator_amount AS "charged_creator_amount: Usdc",
                      charged_platform_amount AS "charged_platform_amount: Usdc", settled_elsewhere, failure_reason,
                      failure_signature AS "failure_signature: [u8; 64]",
                      error_status, error_code, error_message, created_at, opened_at, dispatched_at, finished_at
               FROM executions WHERE record = $1"#,
            key,
        );
        let Some(row) = stored.fetch_optional(self.pool()).await? else { return Ok(None) };
        // What is known together or not at all.
        let tokens_used = row.tokens_used.map(u64::from);
        let reported = row.execution_time_ms.map(|time| Reported { tokens_used, execution_time_ms: time.into() });
        let delivered = row.result.zip(row.result_hash).zip(row.result_signature).zip(reported);
        let charged = row.charged_amount.zip(row.charged_creator_amount).zip(row.charged_platform_amount);
        let status = row.error_status.and_then(|status| u16::try_from(status).ok());
        let failure = status.zip(row.error_code).zip(row.error_message);
        Ok(Some(StoredExecution {
            state: row.state,
            delivered: delivered.map(|(((result, hash), signature), reported)| Delivered {
                result,
                hash,
                signature,
                call_signature: row.result_call_signature,
                tokens_used,
                execution_time_ms: reported.execution_time_ms,
                steps: row.steps,
            }),
            failure: failure.map(|((status, code), message)| Failure {
                reason: row.failure_reason.and_then(|reason| u8::try_from(reason).ok()),
                signature: row.failure_signature,
                status,
                code,
                message,
            }),
            charged: charged.map(|((amount, creator_amount), platform_amount)| Charged {
                amount: amount.into(),
                creator_amount: creator_amount.into(),
                platform_amount: platform_amount.into(),
            }),
            settled_elsewhere: row.settled_elsewhere,
            reported,
            result_hash: row.result_hash,
            created_at: row.created_at,
            opened_at: row.opened_at,
            dispatched_at: row.dispatched_at,
            finished_at: row.finished_at,
            call: Call {
                record: row.record.into(),
                execution_id: row.execution_id,
                caller: row.caller.into(),
                agent: row.agent.into(),
                session_key: row.session_key.map(Pubkey::from),
                idempotency_key: row.idempotency_key,
                body_hash: row.body_hash,
                is_async: row.is_async,
                request: row.request.0,
                request_hash: row.request_hash,
                amount: row.amount.into(),
                timeout_seconds: u32::try_from(row.timeout_seconds).unwrap_or(u32::MAX),
                endpoint: row.endpoint,
            },
        }))
    }
}
