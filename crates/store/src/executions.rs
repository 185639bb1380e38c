//! The gateway's durable executions: what was asked, how far it has come, every transaction signed for
//! it, and the answer. A row is worked on under a lease; every step names the lease it works under and
//! the state it comes from, so two workers can never both take it.
//!
//! Steps that merely note what the chain or the creator can tell again do not wait for the disk
//! (`synchronous_commit` is off for them). What must survive a crash is waited for: every signed transaction before
//! it is sent. That flushes everything written before, the reservation and the result among it.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use solana_pubkey::Pubkey;
use sqlx::{PgPool, types::Json};
use uuid::Uuid;

use crate::{
    StoreError,
    convert::{amount_from_db, amount_to_db, pubkey},
};

/// How far an execution has come (design section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Accepted; nothing signed yet.
    Reserved,
    /// The opening transaction is stored and may have been sent.
    Opening,
    /// Escrow confirmed.
    Pending,
    /// Sent to the creator, perhaps more than once: the execution id lets the creator tell.
    Running,
    /// A checked result is stored.
    ResultStored,
    /// A settling transaction is stored and may have been sent.
    Settling,
    Completed,
    /// The caller gets everything back; the reason is stored.
    Refunding,
    /// Refunded, or never opened.
    Failed,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Opening => "opening",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::ResultStored => "result_stored",
            Self::Settling => "settling",
            Self::Completed => "completed",
            Self::Refunding => "refunding",
            Self::Failed => "failed",
        }
    }

    pub const ALL: [Self; 9] = [
        Self::Reserved,
        Self::Opening,
        Self::Pending,
        Self::Running,
        Self::ResultStored,
        Self::Settling,
        Self::Completed,
        Self::Refunding,
        Self::Failed,
    ];

    /// Nothing is sent to the creator yet.
    pub const BEFORE_DISPATCH: [Self; 2] = [Self::Reserved, Self::Opening];
    /// The creator is asked, for as long as its time-out allows.
    pub const DISPATCH: [Self; 2] = [Self::Pending, Self::Running];
    /// A result waits for its settlement.
    pub const SETTLEMENT: [Self; 2] = [Self::ResultStored, Self::Settling];
    /// An escrow waits for its refund.
    pub const REFUND: [Self; 1] = [Self::Refunding];

    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| StoreError::corrupt("execution state", text))
    }
}

/// What the caller asked the agent to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub task: String,
    pub parameters: Map<String, Value>,
}

/// A call as it was accepted: who, what, and on which terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub execution_id: Uuid,
    pub caller: Pubkey,
    pub agent: Pubkey,
    pub session_key: Pubkey,
    pub idempotency_key: Option<String>,
    /// What the idempotency key is bound to.
    pub body_hash: [u8; 32],
    pub is_async: bool,
    pub request: Request,
    pub request_hash: [u8; 32],
    pub amount: UsdcBase,
    pub timeout_seconds: u32,
    pub endpoint: String,
}

/// A result that passed every check.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    pub result: String,
    pub hash: [u8; 32],
    pub signature: [u8; 64],
    pub tokens_used: Option<u64>,
    pub execution_time_ms: u64,
    pub steps: Option<Value>,
}

/// What the on-chain record says was paid, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    pub amount: UsdcBase,
    pub creator_amount: UsdcBase,
    pub platform_amount: UsdcBase,
}

/// What a settlement says of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    pub tokens_used: Option<u64>,
    pub execution_time_ms: u64,
}

/// What the chain says of a result that somebody else settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledElsewhere {
    pub charged: Charged,
    pub result_hash: [u8; 32],
    pub reported: Reported,
}

/// Why an execution failed, as the caller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The program's number of the reason; none if nothing was opened.
    pub reason: Option<u8>,
    pub status: u16,
    pub code: String,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub call: Call,
    pub state: State,
    pub delivered: Option<Delivered>,
    pub failure: Option<Failure>,
    /// Read from the on-chain record; none before somebody read it.
    pub charged: Option<Charged>,
    /// Completed with a result that this gateway does not have.
    pub settled_elsewhere: bool,
    /// The hash of the result, which is known even when the result is not.
    pub result_hash: Option<[u8; 32]>,
    pub created_at: DateTime<Utc>,
    /// When the escrow was confirmed. None: nothing was ever paid.
    pub opened_at: Option<DateTime<Utc>>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKind {
    Open,
    Complete,
    Fail,
}

impl TransactionKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Fail => "fail",
        }
    }
}

/// A signed transaction, stored before it is sent for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTransaction {
    /// Base58.
    pub signature: String,
    pub bytes: Vec<u8>,
    pub last_valid_block_height: u64,
}

/// A transaction that the chain has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Base58.
    pub signature: String,
    pub slot: u64,
}

impl Landing {
    fn to_db(landing: Option<&Self>) -> Result<(Option<&str>, Option<i64>), StoreError> {
        let Some(Self { signature, slot }) = landing else { return Ok((None, None)) };
        Ok((Some(signature), Some(amount_to_db("slot", *slot)?)))
    }
}

/// What the chain said about a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    Confirmed {
        slot: u64,
    },
    /// Landed and failed there.
    Rejected {
        slot: u64,
        error: String,
    },
    /// Can no longer land.
    Expired,
}

impl Resolution {
    const fn as_str(&self) -> &'static str {
        match self {
            Self::Confirmed { .. } => "confirmed",
            Self::Rejected { .. } => "rejected",
            Self::Expired => "expired",
        }
    }

    fn slot_to_db(&self) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Confirmed { slot } | Self::Rejected { slot, .. } => amount_to_db("slot", *slot).map(Some),
            Self::Expired => Ok(None),
        }
    }

    fn detail(&self) -> Option<&str> {
        match self {
            Self::Rejected { error, .. } => Some(error),
            Self::Confirmed { .. } | Self::Expired => None,
        }
    }
}

/// The right to work on one execution, until it runs out or is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub record: Pubkey,
    pub(crate) token: Uuid,
}

#[derive(Debug, thiserror::Error)]
pub enum ExecutionsError {
    /// Another worker has taken over, or the step does not follow from the stored state. Stop working on it.
    #[error("the execution is no longer this worker's to change")]
    LeaseLost,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ExecutionsError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

pub(crate) type Step = Result<(), ExecutionsError>;

/// A lease that was taken over, with what decides where the work goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub lease: Lease,
    pub agent: Pubkey,
}

/// Access to the executions, with the length of the leases it takes.
#[derive(Clone, Debug)]
pub struct Executions {
    pool: PgPool,
    pub(crate) lease_seconds: f64,
    /// Written into every lease, once the process is registered ([`crate::processes`]).
    process: Arc<RwLock<Option<Uuid>>>,
}

impl Executions {
    pub fn new(pool: PgPool, lease: Duration) -> Self {
        Self { pool, lease_seconds: lease.as_secs_f64(), process: Arc::default() }
    }

    /// From now on leases name this process, or none if its registration has ended.
    pub fn set_process(&self, process: Option<Uuid>) {
        *self.process.write().unwrap_or_else(PoisonError::into_inner) = process;
    }

    pub(crate) fn process(&self) -> Option<Uuid> {
        *self.process.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Keeps the lease. False if it is lost.
    pub async fn renew(&self, lease: Lease) -> Result<bool, StoreError> {
        let updated = sqlx::query!(
            "UPDATE executions SET lease_until = now() + make_interval(secs => $3)
             WHERE record = $1 AND lease_owner = $2",
            lease.record.to_string(),
            lease.token,
            self.lease_seconds,
        )
        .execute(&self.pool)
        .await?;
        Ok(updated.rows_affected() == 1)
    }

    /// Gives the lease back, but lets `pause` go by before the next worker takes it.
    pub async fn postpone(&self, lease: Lease, pause: Duration) -> Result<(), StoreError> {
        sqlx::query!(
            "UPDATE executions
             SET lease_owner = gen_random_uuid(), lease_until = now() + make_interval(secs => $3), lease_process = NULL
             WHERE record = $1 AND lease_owner = $2 AND finished_at IS NULL",
            lease.record.to_string(),
            lease.token,
            pause.as_secs_f64(),
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Leases executions in one of `states` that nobody works on, oldest lease first.
    pub async fn claim(&self, states: &[State], limit: u32) -> Result<Vec<Claimed>, StoreError> {
        let states: Vec<String> = states.iter().map(|state| state.as_str().to_owned()).collect();
        let rows = sqlx::query!(
            r#"UPDATE executions
               SET lease_owner = gen_random_uuid(), lease_until = now() + make_interval(secs => $1), lease_process = $4
               WHERE record IN (
                   SELECT record FROM executions
                   WHERE finished_at IS NULL AND state = ANY($3)
                     AND (lease_until IS NULL OR lease_until < now())
                   ORDER BY lease_until NULLS FIRST
                   LIMIT $2
                   FOR UPDATE SKIP LOCKED)
               RETURNING record, agent, lease_owner AS "token!""#,
            self.lease_seconds,
            i64::from(limit),
            &states,
            self.process(),
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                let lease = Lease { record: pubkey("record", &row.record)?, token: row.token };
                Ok(Claimed { lease, agent: pubkey("agent", &row.agent)? })
            })
            .collect()
    }

    /// reserved → opening: the signed opening is stored and may now be sent.
    pub async fn opening(&self, lease: Lease, transaction: &StoredTransaction) -> Step {
        self.with_transaction(lease, &["reserved"], State::Opening, TransactionKind::Open, transaction).await
    }

    /// result_stored or settling → settling, with a signed settlement. From settling only once the
    /// transaction before has expired.
    pub async fn settling(&self, lease: Lease, transaction: &StoredTransaction) -> Step {
        self.with_transaction(
            lease,
            &["result_stored", "settling"],
            State::Settling,
            TransactionKind::Complete,
            transaction,
        )
        .await
    }

    /// running → settling, in one step: a checked result, and its signed settlement.
    pub async fn settling_with_result(
        &self,
        lease: Lease,
        delivered: &Delivered,
        transaction: &StoredTransaction,
    ) -> Step {
        let tokens_used = delivered.tokens_used.map(|tokens| amount_to_db("tokens used", tokens)).transpose()?;
        let inserted = sqlx::query!(
            "WITH moved AS (
                 UPDATE executions
                 SET state = 'settling', result = $3, result_hash = $4, result_signature = $5, tokens_used = $6,
                     execution_time_ms = $7, steps = $8, updated_at = now(), lease_process = $9
                 WHERE record = $1 AND lease_owner = $2 AND state = 'running'
                 RETURNING record)
             INSERT INTO execution_transactions (signature, record, kind, signed_transaction, last_valid_block_height)
             SELECT $10, record, $11, $12, $13 FROM moved",
            lease.record.to_string(),
            lease.token,
            delivered.result.as_bytes(),
            delivered.hash.as_slice(),
            delivered.signature.as_slice(),
            tokens_used,
            amount_to_db("execution time", delivered.execution_time_ms)?,
            delivered.steps.as_ref(),
            self.process(),
            transaction.signature,
            TransactionKind::Complete.as_str(),
            transaction.bytes,
            amount_to_db("block height", transaction.last_valid_block_height)?,
        )
        .execute(&self.pool)
        .await?;
        took(inserted.rows_affected())
    }

    /// Stores a signed refund; the execution is refunding already.
    pub async fn refund_signed(&self, lease: Lease, transaction: &StoredTransaction) -> Step {
        self.with_transaction(lease, &["refunding"], State::Refunding, TransactionKind::Fail, transaction).await
    }

    /// State and transaction change together or not at all.
    async fn with_transaction(
        &self,
        lease: Lease,
        from: &[&str],
        to: State,
        kind: TransactionKind,
        transaction: &StoredTransaction,
    ) -> Step {
        let from: Vec<String> = from.iter().map(ToString::to_string).collect();
        let inserted = sqlx::query!(
            "WITH moved AS (
                 UPDATE executions SET state = $3, updated_at = now(), lease_process = $9
                 WHERE record = $1 AND lease_owner = $2 AND state = ANY($4)
                 RETURNING record)
             INSERT INTO execution_transactions (signature, record, kind, signed_transaction, last_valid_block_height)
             SELECT $5, record, $6, $7, $8 FROM moved",
            lease.record.to_string(),
            lease.token,
            to.as_str(),
            &from,
            transaction.signature,
            kind.as_str(),
            transaction.bytes,
            amount_to_db("block height", transaction.last_valid_block_height)?,
            self.process(),
        )
        .execute(&self.pool)
        .await?;
        took(inserted.rows_affected())
    }

    /// opening → pending: the escrow is confirmed.
    pub async fn opened(&self, lease: Lease) -> Step {
        let updated = sqlx::query!(
            "UPDATE executions SET state = 'pending', opened_at = now(), updated_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2 AND state = 'opening'",
            lease.record.to_string(),
            lease.token,
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// opening → running, in one step: `landing` has opened the escrow, and the call is about to be sent to the
    /// creator.
    pub async fn opened_and_dispatching(&self, lease: Lease, landing: &Landing) -> Step {
        let updated = sqlx::query!(
            "WITH noted AS (
                 UPDATE execution_transactions SET outcome = 'confirmed', slot = $4, resolved_at = now()
                 WHERE signature = $3 AND outcome = 'unknown')
             UPDATE executions SET state = 'running', opened_at = now(), dispatched_at = now(), updated_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2 AND state = 'opening'",
            lease.record.to_string(),
            lease.token,
            landing.signature,
            amount_to_db("slot", landing.slot)?,
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// reserved or opening → failed: nothing was opened and nothing will be by what is signed so far.
    pub async fn not_opened(&self, lease: Lease, failure: &Failure) -> Step {
        let updated = sqlx::query!(
            "UPDATE executions
             SET state = 'failed', error_status = $3, error_code = $4, error_message = $5,
                 finished_at = now(), updated_at = now(),
                 lease_owner = NULL, lease_until = NULL, lease_process = NULL
             WHERE record = $1 AND lease_owner = $2 AND state IN ('reserved', 'opening')",
            lease.record.to_string(),
            lease.token,
            status_to_db(failure.status)?,
            failure.code,
            storable(&failure.message),
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// pending or running → running: about to be sent to the creator.
    pub async fn dispatching(&self, lease: Lease) -> Step {
        let updated = sqlx::query!(
            "UPDATE executions
             SET state = 'running', dispatched_at = coalesce(dispatched_at, now()), updated_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2 AND state IN ('pending', 'running')",
            lease.record.to_string(),
            lease.token,
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// running → result_stored. The commit does not wait for the disk: the settlement that follows at once is stored
    /// durably, and the result with it. A crash in between means that the creator is asked again.
    pub async fn result_stored(&self, lease: Lease, delivered: &Delivered) -> Step {
        let tokens_used = delivered.tokens_used.map(|tokens| amount_to_db("tokens used", tokens)).transpose()?;
        let updated = sqlx::query!(
            "UPDATE executions
             SET state = 'result_stored', result = $3, result_hash = $4, result_signature = $5, tokens_used = $6,
                 execution_time_ms = $7, steps = $8, updated_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2 AND state = 'running'",
            lease.record.to_string(),
            lease.token,
            delivered.result.as_bytes(),
            delivered.hash.as_slice(),
            delivered.signature.as_slice(),
            tokens_used,
            amount_to_db("execution time", delivered.execution_time_ms)?,
            delivered.steps.as_ref(),
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// result_stored or settling → completed, and counted for the API key. From result_stored or refunding if
    /// somebody else settled the very same result. `reported` is what the settlement says.
    pub async fn completed(&self, lease: Lease, charged: &Charged, reported: &Reported) -> Step {
        self.completed_by(lease, charged, reported, None).await
    }

    /// The same, and what the chain said about the transaction that settled it.
    pub async fn completed_by(
        &self,
        lease: Lease,
        charged: &Charged,
        reported: &Reported,
        landing: Option<&Landing>,
    ) -> Step {
        let tokens_used = reported.tokens_used.map(|tokens| amount_to_db("tokens used", tokens)).transpose()?;
        let (signature, slot) = Landing::to_db(landing)?;
        let counted = sqlx::query_scalar!(
            r#"WITH noted AS (
                   UPDATE execution_transactions SET outcome = 'confirmed', slot = $9, resolved_at = now()
                   WHERE signature = $8 AND outcome = 'unknown'),
               done AS (
                   UPDATE executions
                   SET state = 'completed', finished_at = now(), updated_at = now(), charged_amount = $3,
                       charged_creator_amount = $4, charged_platform_amount = $5,
                       tokens_used = $6, execution_time_ms = $7,
                       failure_reason = NULL, error_status = NULL, error_code = NULL, error_message = NULL,
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
                   WHERE record = $1 AND lease_owner = $2 AND state IN ('result_stored', 'settling', 'refunding')
                     AND result IS NOT NULL
                   RETURNING session_key),
               counted AS (
                   UPDATE api_keys
                   SET execution_count = execution_count + 1, spent = spent + $3, last_used_at = now()
                   WHERE session_public_key = (SELECT session_key FROM done))
               SELECT count(*) AS "rows!" FROM done"#,
            lease.record.to_string(),
            lease.token,
            amount_to_db("amount", charged.amount.0)?,
            amount_to_db("creator amount", charged.creator_amount.0)?,
            amount_to_db("platform amount", charged.platform_amount.0)?,
            tokens_used,
            amount_to_db("execution time", reported.execution_time_ms)?,
            signature,
            slot,
        )
        .fetch_one(&self.pool)
        .await?;
        took(counted.unsigned_abs())
    }

    /// Any unfinished state → completed: the chain says that somebody else settled the execution, with a result
    /// that is not stored here. What is stored as a result goes: it is not the one that was paid for.
    pub async fn settled_elsewhere(&self, lease: Lease, settled: &SettledElsewhere) -> Step {
        let tokens_used = settled.reported.tokens_used.map(|tokens| amount_to_db("tokens used", tokens)).transpose()?;
        let counted = sqlx::query_scalar!(
            r#"WITH done AS (
                   UPDATE executions
                   SET state = 'completed', settled_elsewhere = true, result = NULL, result_signature = NULL,
                       steps = NULL, result_hash = $6, tokens_used = $7, execution_time_ms = $8,
                       failure_reason = NULL, error_status = NULL, error_code = NULL, error_message = NULL,
                       opened_at = COALESCE(opened_at, now()), finished_at = now(), updated_at = now(),
                       charged_amount = $3, charged_creator_amount = $4, charged_platform_amount = $5,
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   WHERE record = $1 AND lease_owner = $2 AND finished_at IS NULL
                   RETURNING session_key),
               counted AS (
                   UPDATE api_keys
                   SET execution_count = execution_count + 1, spent = spent + $3, last_used_at = now()
                   WHERE session_public_key = (SELECT session_key FROM done))
               SELECT count(*) AS "rows!" FROM done"#,
            lease.record.to_string(),
            lease.token,
            amount_to_db("amount", settled.charged.amount.0)?,
            amount_to_db("creator amount", settled.charged.creator_amount.0)?,
            amount_to_db("platform amount", settled.charged.platform_amount.0)?,
            settled.result_hash.as_slice(),
            tokens_used,
            amount_to_db("execution time", settled.reported.execution_time_ms)?,
        )
        .fetch_one(&self.pool)
        .await?;
        took(counted.unsigned_abs())
    }

    /// Notes what the record charges, before the execution is finished.
    pub async fn charged(&self, lease: Lease, charged: &Charged) -> Step {
        let updated = sqlx::query!(
            "UPDATE executions
             SET charged_amount = $3, charged_creator_amount = $4, charged_platform_amount = $5, updated_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2",
            lease.record.to_string(),
            lease.token,
            amount_to_db("amount", charged.amount.0)?,
            amount_to_db("creator amount", charged.creator_amount.0)?,
            amount_to_db("platform amount", charged.platform_amount.0)?,
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// pending … refunding → refunding, with the reason. After settling only if it is certain that no
    /// settlement landed or will.
    pub async fn refunding(&self, lease: Lease, failure: &Failure) -> Step {
        let updated = sqlx::query!(
            "UPDATE executions
             SET state = 'refunding', failure_reason = $3, error_status = $4, error_code = $5, error_message = $6,
                 updated_at = now()
             WHERE record = $1 AND lease_owner = $2 AND state IN ('pending', 'running', 'result_stored', 'settling', 'refunding')",
            lease.record.to_string(),
            lease.token,
            failure.reason.map(i16::from),
            status_to_db(failure.status)?,
            failure.code,
            storable(&failure.message),
        )
        .execute(&self.pool)
        .await?;
        took(updated.rows_affected())
    }

    /// refunding → failed: the refund is on chain. Counted for the API key, at no cost.
    pub async fn refunded(&self, lease: Lease) -> Step {
        let counted = sqlx::query_scalar!(
            r#"WITH done AS (
                   UPDATE executions
                   SET state = 'failed', finished_at = now(), updated_at = now(),
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
                   WHERE record = $1 AND lease_owner = $2 AND state = 'refunding'
                   RETURNING session_key),
               counted AS (
                   UPDATE api_keys SET execution_count = execution_count + 1, last_used_at = now()
                   WHERE session_public_key = (SELECT session_key FROM done))
               SELECT count(*) AS "rows!" FROM done"#,
            lease.record.to_string(),
            lease.token,
        )
        .fetch_one(&self.pool)
        .await?;
        took(counted.unsigned_abs())
    }

    /// Makes a row follow a record that was refunded on chain, whatever the row says: failed, at no cost. A row
    /// that somebody works on is left to them: they read the record themselves. Returns whether the row changed.
    pub async fn follow_refund(&self, record: &Pubkey, failure: &Failure) -> Result<bool, StoreError> {
        let updated = sqlx::query!(
            "UPDATE executions
             SET state = 'failed', failure_reason = $2, error_status = $3, error_code = $4, error_message = $5,
                 opened_at = COALESCE(opened_at, now()), finished_at = COALESCE(finished_at, now()),
                 updated_at = now(), lease_owner = NULL, lease_until = NULL, lease_process = NULL
             WHERE record = $1
               AND (state <> 'failed' OR opened_at IS NULL)
               AND (lease_until IS NULL OR lease_until < now())",
            record.to_string(),
            failure.reason.map(i16::from),
            status_to_db(failure.status)?,
            failure.code,
            storable(&failure.message),
        )
        .execute(&self.pool)
        .await?;
        Ok(updated.rows_affected() == 1)
    }

    /// How many transactions of that kind the chain refused for this execution.
    pub async fn rejections(&self, record: &Pubkey, kind: TransactionKind) -> Result<u32, StoreError> {
        let count = sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM execution_transactions
               WHERE record = $1 AND kind = $2 AND outcome = 'rejected'"#,
            record.to_string(),
            kind.as_str(),
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Notes that the result still has to be written to the content store.
    pub async fn content_missing(&self, record: &Pubkey) -> Result<(), StoreError> {
        sqlx::query!(
            "INSERT INTO missing_content (record, sha256)
             SELECT record, result_hash FROM executions WHERE record = $1 AND result IS NOT NULL
             ON CONFLICT DO NOTHING",
            record.to_string(),
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// The content store has the result.
    pub async fn content_stored(&self, record: &Pubkey) -> Result<(), StoreError> {
        sqlx::query!("DELETE FROM missing_content WHERE record = $1", record.to_string()).execute(&self.pool).await?;
        Ok(())
    }

    /// Results that still have to be written to the content store.
    pub async fn without_content(&self, limit: u32) -> Result<Vec<(Pubkey, Vec<u8>)>, StoreError> {
        let rows = sqlx::query!(
            r#"SELECT record, e.result AS "result!" FROM missing_content JOIN executions e USING (record)
               WHERE e.result IS NOT NULL LIMIT $1"#,
            i64::from(limit),
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter().map(|row| Ok((pubkey("record", &row.record)?, row.result))).collect()
    }

    /// A settled result by its hash, if the content store does not have it yet.
    pub async fn result_by_hash(&self, hash: &[u8; 32]) -> Result<Option<Vec<u8>>, StoreError> {
        let row = sqlx::query_scalar!(
            r#"SELECT e.result AS "result!" FROM missing_content m JOIN executions e USING (record)
               WHERE m.sha256 = $1 AND e.result_hash = $1 AND e.state = 'completed' AND e.result IS NOT NULL LIMIT 1"#,
            hash.as_slice(),
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(row)
    }

    /// Notes what the chain said about a transaction. A fact, so no lease is asked for.
    pub async fn resolve(&self, signature: &str, resolution: &Resolution) -> Result<(), StoreError> {
        sqlx::query!(
            "UPDATE execution_transactions SET outcome = $2, slot = $3, detail = $4, resolved_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE signature = $1 AND outcome = 'unknown'",
            signature,
            resolution.as_str(),
            resolution.slot_to_db()?,
            resolution.detail(),
        )
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    /// Transactions of that kind whose outcome is not known yet, oldest first.
    pub async fn unresolved(
        &self,
        record: &Pubkey,
        kind: TransactionKind,
    ) -> Result<Vec<StoredTransaction>, StoreError> {
        let rows = sqlx::query!(
            "SELECT signature, signed_transaction, last_valid_block_height FROM execution_transactions
             WHERE record = $1 AND kind = $2 AND outcome = 'unknown' ORDER BY created_at",
            record.to_string(),
            kind.as_str(),
        )
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(StoredTransaction {
                    signature: row.signature,
                    bytes: row.signed_transaction,
                    last_valid_block_height: amount_from_db("block height", row.last_valid_block_height)?,
                })
            })
            .collect()
    }

    /// The metadata document with that hash, if it has been fetched for that agent.
    pub async fn document(&self, agent: &Pubkey, sha256: &[u8; 32]) -> Result<Option<Value>, StoreError> {
        let row = sqlx::query!(
            r#"SELECT document AS "document!" FROM agent_metadata
               WHERE agent = $1 AND sha256 = $2 AND document IS NOT NULL"#,
            agent.to_string(),
            sha256.as_slice(),
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|row| row.document))
    }

    /// The execution with that record.
    pub async fn get(&self, record: &Pubkey) -> Result<Option<Execution>, StoreError> {
        sqlx::query_as!(
            Row,
            r#"SELECT record, execution_id, caller, agent, session_key, state, idempotency_key, body_hash, is_async,
                      request AS "request: Json<Request>", request_hash, amount, timeout_seconds, endpoint,
                      result, result_hash, result_signature, tokens_used, execution_time_ms, steps,
                      charged_amount, charged_creator_amount, charged_platform_amount, settled_elsewhere,
                      failure_reason, error_status, error_code, error_message,
                      created_at, opened_at, dispatched_at, finished_at
               FROM executions WHERE record = $1"#,
            record.to_string(),
        )
        .fetch_optional(&self.pool)
        .await?
        .map(Execution::try_from)
        .transpose()
    }
}

/// A step that changed no row found the lease gone or the state another.
pub(crate) fn took(rows: u64) -> Step {
    if rows == 1 { Ok(()) } else { Err(ExecutionsError::LeaseLost) }
}

pub(crate) fn timeout_to_db(seconds: u32) -> Result<i32, StoreError> {
    i32::try_from(seconds).map_err(|_| StoreError::out_of_range("timeout", seconds))
}

fn status_to_db(status: u16) -> Result<i16, StoreError> {
    i16::try_from(status).map_err(|_| StoreError::out_of_range("HTTP status", status))
}

/// PostgreSQL's `text` holds everything but U+0000, which a creator's error text may contain.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

struct Row {
    record: String,
    execution_id: Uuid,
    caller: String,
    agent: String,
    session_key: String,
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

impl TryFrom<Row> for Execution {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            state: State::parse(&row.state)?,
            delivered: row.delivered()?,
            failure: row.failure()?,
            charged: row.charged()?,
            settled_elsewhere: row.settled_elsewhere,
            result_hash: row.result_hash.as_deref().map(|hash| fixed("result hash", hash)).transpose()?,
            created_at: row.created_at,
            opened_at: row.opened_at,
            dispatched_at: row.dispatched_at,
            finished_at: row.finished_at,
            call: row.into_call()?,
        })
    }
}

impl Row {
    fn into_call(self) -> Result<Call, StoreError> {
        Ok(Call {
            record: pubkey("record", &self.record)?,
            execution_id: self.execution_id,
            caller: pubkey("caller", &self.caller)?,
            agent: pubkey("agent", &self.agent)?,
            session_key: pubkey("session key", &self.session_key)?,
            idempotency_key: self.idempotency_key,
            body_hash: fixed("body hash", &self.body_hash)?,
            is_async: self.is_async,
            request: self.request.0,
            request_hash: fixed("request hash", &self.request_hash)?,
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
            hash: fixed("result hash", hash)?,
            signature: fixed("result signature", signature)?,
            tokens_used: self.tokens_used.map(|tokens| amount_from_db("tokens used", tokens)).transpose()?,
            execution_time_ms: amount_from_db("execution time", time)?,
            steps: self.steps.clone(),
        }))
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

fn fixed<const N: usize>(what: &'static str, bytes: &[u8]) -> Result<[u8; N], StoreError> {
    bytes.try_into().map_err(|_| StoreError::corrupt(what, format!("{} bytes", bytes.len())))
}
