//! Accepting a call: its row is written only if the wallet's money covers it beside everything else that is
//! about to take money from that wallet, and if its key, wallet and agent are within their limits. Also the
//! opposite: taking back a row whose escrow was never opened.
//!
//! Checks and write are one statement. `admit_call` (migration 0009) takes a lock per wallet and one per agent
//! and counts under them, so what holds here holds over any number of gateways on one database; and a caller
//! that hangs up cannot stop the statement halfway, because the server runs it to its end.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    StoreError,
    convert::{amount_from_db, amount_to_db, saturating_to_db},
    executions::{Call, Execution, Executions, ExecutionsError, Lease, Step, timeout_to_db, took},
};

/// Added to the age of a read of the chain: the way of the statement to the server is not measured. Too much
/// only means that a call which was opened a moment ago is counted twice, and the chain is read again.
const READ_AGE_SLACK: Duration = Duration::from_secs(1);

/// When the chain was read.
#[derive(Clone, Copy, Debug)]
pub enum ReadAt {
    /// Not before this moment of this process's clock.
    Local(Instant),
    /// Not before this moment of the database's clock: exact, as [`Shortage::as_of`] tells it.
    Database(DateTime<Utc>),
}

/// What the chain lets a call take.
#[derive(Clone, Copy, Debug)]
pub struct Funds {
    /// The wallet's holding or its token approval, whichever is smaller.
    pub wallet: UsdcBase,
    /// What is left of the key's grant.
    pub key: UsdcBase,
    pub read_at: ReadAt,
}

/// A number for each of the three that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerSubject {
    pub key: u32,
    pub wallet: u32,
    pub agent: u32,
}

/// Who shares a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Key,
    Wallet,
    Agent,
}

impl PerSubject {
    pub const fn of(&self, subject: Subject) -> u32 {
        match subject {
            Subject::Key => self.key,
            Subject::Wallet => self.wallet,
            Subject::Agent => self.agent,
        }
    }
}

/// How many calls are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls between acceptance and their end.
    pub under_way: PerSubject,
    /// Calls within the last hour that the creator's service failed and that were refunded, and openings that
    /// the chain rejected.
    pub failures_per_hour: PerSubject,
}

/// Everything a new call is held against.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub funds: Funds,
    pub limits: CallLimits,
}

/// The money is there, but calls under way are about to take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub of: Money,
    /// What calls under way take.
    pub reserved: UsdcBase,
    /// The database's time at which they were counted: read the chain again, and give this as [`ReadAt`].
    pub as_of: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    /// The wallet's USDC, or what it lets its keys move.
    Wallet,
    /// The key's grant.
    Key,
}

/// Why a call was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Short(Shortage),
    TooManyUnderWay(Subject),
    TooManyFailures {
        of: Subject,
        /// Until the oldest of them no longer counts.
        retry_after: Duration,
    },
}

/// Outcome of a reservation.
#[derive(Debug)]
pub enum Reservation {
    New(Lease),
    /// The record is reserved already: the same idempotency key came before.
    Existing(Box<Execution>),
    /// Nothing was written.
    Refused(Refusal),
}

/// Outcome of taking up a call again.
#[derive(Debug, PartialEq, Eq)]
pub enum Retry {
    Taken(Lease),
    /// It was opened, or somebody is at it.
    NotNow,
    /// Nothing was changed.
    Refused(Refusal),
}

/// What `admit_call` and the statement around it say.
struct Verdict {
    taken: bool,
    refusal: Option<String>,
    reserved: Option<i64>,
    retry_after_s: Option<f64>,
    as_of: DateTime<Utc>,
}

impl Verdict {
    fn refusal(&self) -> Result<Option<Refusal>, StoreError> {
        let Some(name) = self.refusal.as_deref() else { return Ok(None) };
        let short = |of| -> Result<Refusal, StoreError> {
            let reserved = UsdcBase(amount_from_db("reserved amount", self.reserved.unwrap_or(0))?);
            Ok(Refusal::Short(Shortage { of, reserved, as_of: self.as_of }))
        };
        let failures = |of| {
            let seconds = self.retry_after_s.unwrap_or(0.0).max(0.0);
            Refusal::TooManyFailures { of, retry_after: Duration::try_from_secs_f64(seconds).unwrap_or_default() }
        };
        Ok(Some(match name {
            "wallet_funds" => short(Money::Wallet)?,
            "key_funds" => short(Money::Key)?,
            "key_calls" => Refusal::TooManyUnderWay(Subject::Key),
            "wallet_calls" => Refusal::TooManyUnderWay(Subject::Wallet),
            "agent_calls" => Refusal::TooManyUnderWay(Subject::Agent),
            "key_failures" => failures(Subject::Key),
            "wallet_failures" => failures(Subject::Wallet),
            "agent_failures" => failures(Subject::Agent),
            other => return Err(StoreError::corrupt("refusal", other)),
        }))
    }
}

/// The bounds as `admit_call` takes them.
struct Arguments {
    wallet_funds: i64,
    key_funds: i64,
    read_at: Option<DateTime<Utc>>,
    read_age_s: Option<f64>,
}

impl From<&Funds> for Arguments {
    fn from(funds: &Funds) -> Self {
        let (read_at, read_age_s) = match funds.read_at {
            ReadAt::Database(at) => (Some(at), None),
            ReadAt::Local(at) => (None, Some(at.elapsed().saturating_add(READ_AGE_SLACK).as_secs_f64())),
        };
        Self {
            wallet_funds: saturating_to_db(funds.wallet.0),
            key_funds: saturating_to_db(funds.key.0),
            read_at,
            read_age_s,
        }
    }
}

impl Executions {
    /// Accepts a call, and with it reserves its amount until it is taken from the wallet on the chain. Nothing is
    /// changed if its record is known already.
    ///
    /// The commit does not wait for the disk. Nothing is sent before [`Executions::opening`] has stored the signed
    /// transaction, and that commit flushes this one, too. A crash in between loses a call of which nobody has
    /// heard and for which nothing was signed; its worker finds the row gone, as if its lease were lost.
    pub async fn reserve(&self, call: &Call, bounds: &Bounds) -> Result<Reservation, StoreError> {
        let token = Uuid::new_v4();
        let request_text = serde_json::to_string(&call.request).map_err(|e| StoreError::corrupt("request", e))?;
        let mut connection = self.pool().acquire().await?;
        // Only now: waiting for the connection is a part of the age.
        let arguments = Arguments::from(&bounds.funds);
        let (under_way, failures) = (bounds.limits.under_way, bounds.limits.failures_per_hour);
        let verdict = sqlx::query_as!(
            Verdict,
            r#"WITH verdict AS MATERIALIZED (
                   SELECT a.refusal, a.reserved, a.retry_after_s, a.as_of
                   FROM set_config('synchronous_commit', 'off', true) AS relaxed,
                        admit_call($1, $3, $5, $4, $11, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25) AS a),
               inserted AS (
                   INSERT INTO executions (record, execution_id, caller, agent, session_key, state, idempotency_key,
                       body_hash, is_async, request, request_hash, amount, timeout_seconds, endpoint,
                       lease_owner, lease_until, lease_process)
                   SELECT $1, $2, $3, $4, $5, 'reserved', $6, $7, $8, $9::text::json, $10, $11, $12, $13,
                       $14, clock_timestamp() + make_interval(secs => $15), $26
                   FROM verdict WHERE refusal IS NULL
                   ON CONFLICT DO NOTHING
                   RETURNING record)
               SELECT EXISTS (SELECT FROM inserted) AS "taken!", refusal, reserved, retry_after_s, as_of AS "as_of!"
               FROM verdict"#,
            call.record.to_string(),
            call.execution_id,
            call.caller.to_string(),
            call.agent.to_string(),
            call.session_key.to_string(),
            call.idempotency_key.as_deref(),
            call.body_hash.as_slice(),
            call.is_async,
            // As text: sent as jsonb, a U+0000 that a caller wrote would be refused.
            request_text,
            call.request_hash.as_slice(),
            amount_to_db("amount", call.amount.0)?,
            timeout_to_db(call.timeout_seconds)?,
            call.endpoint,
            token,
            self.lease_seconds,
            arguments.wallet_funds,
            arguments.key_funds,
            arguments.read_at,
            arguments.read_age_s,
            i64::from(under_way.key),
            i64::from(under_way.wallet),
            i64::from(under_way.agent),
            i64::from(failures.key),
            i64::from(failures.wallet),
            i64::from(failures.agent),
            self.process(),
        )
        .fetch_one(&mut *connection)
        .await?;
        drop(connection);
        if verdict.taken {
            return Ok(Reservation::New(Lease { record: call.record, token }));
        }
        if let Some(refusal) = verdict.refusal()? {
            return Ok(Reservation::Refused(refusal));
        }
        match self.get(&call.record).await? {
            Some(execution) => Ok(Reservation::Existing(Box::new(execution))),
            None => Err(StoreError::corrupt("execution (another record has its caller and id)", call.execution_id)),
        }
    }

    /// Takes up a call again that was never opened: nothing was paid, so nothing can be paid twice. The terms and
    /// the bounds are those of the new `call`; a reservation like any other.
    pub async fn retry(&self, call: &Call, bounds: &Bounds) -> Result<Retry, StoreError> {
        let token = Uuid::new_v4();
        let mut connection = self.pool().acquire().await?;
        let arguments = Arguments::from(&bounds.funds);
        let (under_way, failures) = (bounds.limits.under_way, bounds.limits.failures_per_hour);
        let verdict = sqlx::query_as!(
            Verdict,
            r#"WITH verdict AS MATERIALIZED (
                   SELECT a.refusal, a.reserved, a.retry_after_s, a.as_of
                   FROM set_config('synchronous_commit', 'off', true) AS relaxed,
                        admit_call($1, $9, $2, $10, $3, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) AS a),
               updated AS (
                   UPDATE executions
                   SET state = 'reserved', session_key = $2, amount = $3, timeout_seconds = $4, endpoint = $5,
                       failure_reason = NULL, error_status = NULL, error_code = NULL, error_message = NULL,
                       finished_at = NULL, updated_at = now(),
                       lease_owner = $6, lease_until = clock_timestamp() + make_interval(secs => $7),
                       lease_process = $21
                   FROM verdict
                   WHERE refusal IS NULL AND record = $1 AND body_hash = $8 AND opened_at IS NULL
                     AND (state = 'failed' OR (state = 'reserved' AND (lease_until IS NULL OR lease_until < now())))
                   RETURNING record)
               SELECT EXISTS (SELECT FROM updated) AS "taken!", refusal, reserved, retry_after_s, as_of AS "as_of!"
               FROM verdict"#,
            call.record.to_string(),
            call.session_key.to_string(),
            amount_to_db("amount", call.amount.0)?,
            timeout_to_db(call.timeout_seconds)?,
            call.endpoint,
            token,
            self.lease_seconds,
            call.body_hash.as_slice(),
            call.caller.to_string(),
            call.agent.to_string(),
            arguments.wallet_funds,
            arguments.key_funds,
            arguments.read_at,
            arguments.read_age_s,
            i64::from(under_way.key),
            i64::from(under_way.wallet),
            i64::from(under_way.agent),
            i64::from(failures.key),
            i64::from(failures.wallet),
            i64::from(failures.agent),
            self.process(),
        )
        .fetch_one(&mut *connection)
        .await?;
        if verdict.taken {
            return Ok(Retry::Taken(Lease { record: call.record, token }));
        }
        Ok(verdict.refusal()?.map_or(Retry::NotNow, Retry::Refused))
    }

    /// reserved → pending: somebody opened the escrow of this very call before this gateway sent anything.
    pub async fn found_open(&self, lease: Lease) -> Step {
        let updated = sqlx::query!(
            "UPDATE executions SET state = 'pending', opened_at = now(), updated_at = now()
             WHERE record = $1 AND lease_owner = $2 AND state = 'reserved'",
            lease.record.to_string(),
            lease.token,
        )
        .execute(self.pool())
        .await?;
        took(updated.rows_affected())
    }

    /// Takes a call back that was never opened: no list shows it, and its idempotency key is free again. What the
    /// chain rejected is counted as a failure of key, wallet and agent.
    ///
    /// False, and nothing is changed, while a transaction of it may still land, or if its escrow was opened.
    pub async fn forget(&self, lease: Lease) -> Result<bool, ExecutionsError> {
        let row = sqlx::query!(
            r#"WITH gone AS (
                   SELECT e.record, e.caller, e.session_key, e.agent FROM executions e
                   WHERE e.record = $1 AND e.lease_owner = $2 AND e.state IN ('reserved', 'opening')
                     AND e.opened_at IS NULL
                     AND NOT EXISTS (SELECT FROM execution_transactions t
                                     WHERE t.record = e.record AND t.outcome NOT IN ('rejected', 'expired'))
                   FOR UPDATE),
               transactions AS (
                   DELETE FROM execution_transactions t USING gone WHERE t.record = gone.record RETURNING t.outcome),
               failures AS (
                   INSERT INTO call_failures (caller, session_key, agent)
                   SELECT gone.caller, gone.session_key, gone.agent FROM gone, transactions t
                   WHERE t.outcome = 'rejected'),
               rows AS (
                   DELETE FROM executions e USING gone WHERE e.record = gone.record RETURNING e.record)
               SELECT count(*) AS "gone!",
                      EXISTS (SELECT FROM executions WHERE record = $1 AND lease_owner = $2) AS "held!"
               FROM rows"#,
            lease.record.to_string(),
            lease.token,
        )
        .fetch_one(self.pool())
        .await?;
        match (row.gone, row.held) {
            (1, _) => Ok(true),
            (_, true) => Ok(false),
            (_, false) => Err(ExecutionsError::LeaseLost),
        }
    }
}

/// Deletes the failures that no limit counts any more.
pub async fn forget_old_failures(pool: &PgPool) -> Result<(), StoreError> {
    sqlx::query!("DELETE FROM call_failures WHERE at < now() - interval '1 hour'").execute(pool).await?;
    Ok(())
}
