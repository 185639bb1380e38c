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
    convert::{amount_from_db, fixed_bytes, optional_amount_from_db, pubkey},
    error::StoreError,
};

impl Executions {
    /// The execution with that record.
    pub async fn get(&self, record: &Pubkey) -> Result<Option<Execution>, StoreError> {
        sqlx::query_as!(
            StoredExecution,
            r#"SELECT record, execution_id, caller, agent, session_key, state, idempotency_key, body_hash, is_async,
                      request AS "request: Json<Request>", request_hash, amount, timeout_seconds, endpoint,
                      result, result_hash, result_signature, result_call_signature, tokens_used,
                      execution_time_ms, steps,
                      charged_amount, charged_creator_amount, charged_platform_amount, settled_elsewhere,
                      failure_reason, error_status, error_code, error_message,
                      created_at, opened_at, dispatched_at, finished_at
               FROM executions WHERE record = $1"#,
            record.to_string(),
        )
        .fetch_optional(self.pool())
        .await?
        .map(Execution::try_from)
        .transpose()
    }
}

/// A row as it is selected.
struct StoredExecution {
    record: String,
    execution_id: Uuid,
    caller: String,
    agent: String,
    session_key: Option<String>,
    state: String,
    idempotency_key: Option<String>,
    body_hash: Vec<u8>,
    is_async: bool,
    request: Json<Request>,
    request_hash: Vec<u8>,
    amount: i64,
    timeout_seconds: i32,
    endpoint: String,
    result: Option<Vec<u8>>,
    result_hash: Option<Vec<u8>>,
    result_signature: Option<Vec<u8>>,
    result_call_signature: Option<Vec<u8>>,
    tokens_used: Option<i64>,
    execution_time_ms: Option<i64>,
    steps: Option<Value>,
    charged_amount: Option<i64>,
    charged_creator_amount: Option<i64>,
    charged_platform_amount: Option<i64>,
    settled_elsewhere: bool,
    failure_reason: Option<i16>,
    error_status: Option<i16>,
    error_code: Option<String>,
    error_message: Option<String>,
    created_at: DateTime<Utc>,
    opened_at: Option<DateTime<Utc>>,
    dispatched_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
}

impl TryFrom<StoredExecution> for Execution {
    type Error = StoreError;

    fn try_from(row: StoredExecution) -> Result<Self, StoreError> {
        Ok(Self {
            state: State::parse(&row.state)?,
            delivered: row.delivered()?,
            failure: row.failure()?,
            charged: row.charged()?,
            settled_elsewhere: row.settled_elsewhere,
            reported: row.reported()?,
            result_hash: row.result_hash.as_deref().map(|hash| fixed_bytes("result hash", hash)).transpose()?,
            created_at: row.created_at,
            opened_at: row.opened_at,
            dispatched_at: row.dispatched_at,
            finished_at: row.finished_at,
            call: row.into_call()?,
        })
    }
}

impl StoredExecution {
    fn into_call(self) -> Result<Call, StoreError> {
        Ok(Call {
            record: pubkey("record", &self.record)?,
            execution_id: self.execution_id,
            caller: pubkey("caller", &self.caller)?,
            agent: pubkey("agent", &self.agent)?,
            session_key: self.session_key.as_deref().map(|key| pubkey("session key", key)).transpose()?,
            idempotency_key: self.idempotency_key,
            body_hash: fixed_bytes("body hash", &self.body_hash)?,
            is_async: self.is_async,
            request: self.request.0,
            request_hash: fixed_bytes("request hash", &self.request_hash)?,
            amount: UsdcBase(amount_from_db("amount", self.amount)?),
            timeout_seconds: u32::try_from(self.timeout_seconds)
                .map_err(|_| StoreError::corrupt("timeout", self.timeout_seconds))?,
            endpoint: self.endpoint,
        })
    }

    fn delivered(&self) -> Result<Option<Delivered>, StoreError> {
        let (Some(result), Some(hash), Some(signature), Some(time)) =
            (&self.result, &self.result_hash, &self.result_signature, self.execution_time_ms)
        else {
            return Ok(None);
        };
        let result = std::str::from_utf8(result).map_err(|_| StoreError::corrupt("result", "not UTF-8"))?;
        Ok(Some(Delivered {
            result: result.to_owned(),
            hash: fixed_bytes("result hash", hash)?,
            signature: fixed_bytes("result signature", signature)?,
            call_signature: self
                .result_call_signature
                .as_deref()
                .map(|signature| fixed_bytes("call signature", signature))
                .transpose()?,
            tokens_used: optional_amount_from_db("tokens used", self.tokens_used)?,
            execution_time_ms: amount_from_db("execution time", time)?,
            steps: self.steps.clone(),
        }))
    }

    fn reported(&self) -> Result<Option<Reported>, StoreError> {
        let Some(execution_time_ms) = optional_amount_from_db("execution time", self.execution_time_ms)? else {
            return Ok(None);
        };
        Ok(Some(Reported { tokens_used: optional_amount_from_db("tokens used", self.tokens_used)?, execution_time_ms }))
    }

    fn charged(&self) -> Result<Option<Charged>, StoreError> {
        let (Some(amount), Some(creator), Some(platform)) =
            (self.charged_amount, self.charged_creator_amount, self.charged_platform_amount)
        else {
            return Ok(None);
        };
        Ok(Some(Charged {
            amount: UsdcBase(amount_from_db("amount", amount)?),
            creator_amount: UsdcBase(amount_from_db("creator amount", creator)?),
            platform_amount: UsdcBase(amount_from_db("platform amount", platform)?),
        }))
    }

    fn failure(&self) -> Result<Option<Failure>, StoreError> {
        let (Some(status), Some(code), Some(message)) = (self.error_status, &self.error_code, &self.error_message)
        else {
            return Ok(None);
        };
        let reason = self
            .failure_reason
            .map(|reason| u8::try_from(reason).map_err(|_| StoreError::corrupt("failure reason", reason)))
            .transpose()?;
        Ok(Some(Failure {
            reason,
            status: u16::try_from(status).map_err(|_| StoreError::corrupt("HTTP status", status))?,
            code: code.clone(),
            message: message.clone(),
        }))
    }
}
