//! Accepts a call: its row is written only if the money of the wallet covers it together with all other reserved calls,
//! and if its key, wallet and agent are within their limits.
//!
//! Checks and write are one statement. `admit_call` (`migrations/0005_admission.sql`) takes a lock per wallet and one
//! per agent and counts under them, so the limits hold over all gateways on one database. The server runs the
//! statement to its end even if the caller disconnects.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use solana_pubkey::Pubkey;
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    Result, StoreError,
    columns::Usdc,
    convert::{amount_to_db, saturating_to_db},
    database::run,
    executions::{Call, Executions, Lease, StoredExecution},
};

/// Added to the age of a read of the chain, because the time until the statement reaches the server is unknown. If it
/// is too much, a call that was just opened is counted twice, and the chain is read again.
const READ_AGE_SLACK: Duration = Duration::from_secs(1);

/// When the chain was read.
#[derive(Clone, Copy, Debug)]
pub enum ReadAt {
    /// Not before this moment of this process's clock.
    Local(Instant),
    /// Not before this moment of the database's clock: exact, from [`Shortage::as_of`].
    Database(DateTime<Utc>),
}

/// What a call can take, as read from the chain.
#[derive(Clone, Copy, Debug)]
pub struct Funds {
    /// The wallet's holding or its token approval, whichever is smaller.
    pub wallet: UsdcBase,
    /// What is left of the key's grant.
    pub key: UsdcBase,
    pub read_at: ReadAt,
}

/// A number for each [`Subject`] of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerSubject {
    pub key: u32,
    pub wallet: u32,
    pub agent: u32,
}

/// What shares a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
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

/// All bounds of a new call.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub funds: Funds,
    pub limits: CallLimits,
}

/// The money exists, but other calls have reserved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The wallet, for its USDC or its token approval; or the key, for its grant.
    pub of: Subject,
    /// What other calls have reserved.
    pub reserved: UsdcBase,
    /// The database's time at which they were counted. A read of the chain after the refusal has this [`ReadAt`].
    pub as_of: DateTime<Utc>,
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
    /// The record is known already: from an earlier call with the same idempotency key, or handed over before.
    Existing(Box<StoredExecution>),
    /// Nothing was written.
    Refused(Refusal),
}

/// Outcome of accepting a call again.
#[derive(Debug, PartialEq, Eq)]
pub enum Retry {
    Taken(Lease),
    /// It was opened, or a worker has its lease.
    NotNow,
    /// Nothing was changed.
    Refused(Refusal),
}

/// The answer of the statement that writes an accepted call.
struct AcceptanceRow {
    taken: bool,
    refusal: Option<String>,
    reserved: Option<Usdc>,
    retry_after_s: Option<f64>,
    as_of: DateTime<Utc>,
}

impl AcceptanceRow {
    fn refusal(&self) -> Result<Option<Refusal>> {
        let Some(name) = self.refusal.as_deref() else { return Ok(None) };
        let of_subject = name.split_once('_').and_then(|(of, limit)| Some((of.parse().ok()?, limit)));
        Ok(Some(match of_subject {
            Some((of, "funds")) => {
                let reserved = self.reserved.map_or(UsdcBase(0), UsdcBase::from);
                Refusal::Short(Shortage { of, reserved, as_of: self.as_of })
            }
            Some((of, "calls")) => Refusal::TooManyUnderWay(of),
            Some((of, "failures")) => {
                let retry_after = Duration::try_from_secs_f64(self.retry_after_s.unwrap_or_default());
                Refusal::TooManyFailures { of, retry_after: retry_after.unwrap_or_default() }
            }
            _ => return Err(StoreError::corrupt("refusal", name)),
        }))
    }
}

impl Executions {
    /// Accepts a call and reserves its amount until the chain takes it from the wallet. Nothing is changed if its
    /// record is known already.
    ///
    /// The commit does not wait for the disk. Nothing is sent before [`Executions::signed`] has stored the signed
    /// transaction, and that commit also flushes this one. A crash in between loses a call for which nothing was
    /// signed; its worker finds no row, as if it had lost its lease.
    pub async fn reserve(&self, call: &Call, bounds: &Bounds) -> Result<Reservation> {
        self.accept(call, bounds, None).await
    }

    /// Accepts an execution that its wallet opened itself at `opened_at`, by the chain's clock: it is `pending`. Its
    /// money is in the escrow already, so only the limits can refuse it. Nothing is changed if its record is known
    /// already.
    ///
    /// The commit waits for the disk: no later one of this service stands before the creator is asked.
    pub async fn take_over(&self, call: &Call, opened_at: DateTime<Utc>, limits: CallLimits) -> Result<Reservation> {
        let enough = UsdcBase(u64::MAX);
        let funds = Funds { wallet: enough, key: enough, read_at: ReadAt::Local(Instant::now()) };
        self.accept(call, &Bounds { funds, limits }, Some(opened_at)).await
    }

    async fn accept(&self, call: &Call, bounds: &Bounds, opened_at: Option<DateTime<Utc>>) -> Result<Reservation> {
        let token = Uuid::new_v4();
        let verdict = self.write_if_admitted(call, bounds, token, opened_at, false).await?;
        if verdict.taken {
            return Ok(Reservation::New(Lease { record: call.record, token }));
        }
        if let Some(refusal) = verdict.refusal()? {
            return Ok(Reservation::Refused(refusal));
        }
        match self.get(&call.record).await? {
            Some(execution) => Ok(Reservation::Existing(Box::new(execution))),
            None => Err(StoreError::corrupt("execution (it is gone again)", call.execution_id)),
        }
    }

    /// Accepts a call again that was never opened: nothing was paid, so nothing can be paid twice. Terms and bounds are
    /// those of the new `call`; it is a reservation like any other.
    pub async fn retry(&self, call: &Call, bounds: &Bounds) -> Result<Retry> {
        let token = Uuid::new_v4();
        let verdict = self.write_if_admitted(call, bounds, token, None, true).await?;
        if verdict.taken {
            return Ok(Retry::Taken(Lease { record: call.record, token }));
        }
        Ok(verdict.refusal()?.map_or(Retry::NotNow, Retry::Refused))
    }

    /// `opened_at`: the escrow is open already. The chain's clock can be ahead of the database's; then it counts as
    /// opened now. `again`: a row that was never opened and that nobody works on becomes this call.
    ///
    /// The lock of the wallet comes before the insertion, so two calls with the same id never insert at the same time.
    async fn write_if_admitted(
        &self,
        call: &Call,
        bounds: &Bounds,
        token: Uuid,
        opened_at: Option<DateTime<Utc>>,
        again: bool,
    ) -> Result<AcceptanceRow> {
        // As text: sent as jsonb, a U+0000 that a caller wrote would be refused.
        let request = serde_json::to_string(&call.request).map_err(|error| StoreError::corrupt("request", error))?;
        let Bounds { funds, limits: CallLimits { under_way, failures_per_hour: failures } } = bounds;
        let mut connection = self.pool().acquire().await?;
        // Only now: the wait for the connection is a part of the age.
        let (read_at, read_age_s) = match funds.read_at {
            ReadAt::Database(at) => (Some(at), None),
            ReadAt::Local(at) => (None, Some(at.elapsed().saturating_add(READ_AGE_SLACK).as_secs_f64())),
        };
        let verdict = sqlx::query_as!(
            AcceptanceRow,
            r#"WITH verdict AS MATERIALIZED (
                   SELECT a.refusal, a.reserved, a.retry_after_s, a.as_of
                   FROM set_config('synchronous_commit', CASE WHEN $27::timestamptz IS NULL THEN 'off'
                                                              ELSE current_setting('synchronous_commit') END, true) AS c,
                        admit_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) AS a),
               written AS (
                   INSERT INTO executions AS e (record, execution_id, caller, agent, session_key, state, idempotency_key,
                       body_hash, is_async, request, request_hash, amount, timeout_seconds, endpoint,
                       lease_owner, lease_until, lease_process, created_at, opened_at)
                   SELECT $1, $22, $2, $4, $3, CASE WHEN $27 IS NULL THEN 'reserved' ELSE 'pending' END, $23, $18,
                       $24, $25::text::json, $26, $5, $16, $17,
                       $19, clock_timestamp() + make_interval(secs => $20), $21,
                       LEAST($27, now()), CASE WHEN $27 IS NULL THEN NULL ELSE LEAST($27, now()) END
                   FROM verdict WHERE refusal IS NULL
                   ON CONFLICT (record) DO UPDATE SET
                       state = excluded.state, session_key = excluded.session_key, amount = excluded.amount,
                       timeout_seconds = excluded.timeout_seconds, endpoint = excluded.endpoint,
                       failure_reason = NULL, error_status = NULL, error_code = NULL, error_message = NULL,
                       finished_at = NULL, lease_owner = excluded.lease_owner,
                       lease_until = excluded.lease_until, lease_process = excluded.lease_process
                   WHERE $28 AND e.body_hash = excluded.body_hash AND e.opened_at IS NULL
                     AND (e.state = 'failed'
                          OR (e.state = 'reserved' AND (e.lease_until IS NULL OR e.lease_until < now())))
                   RETURNING record)
               SELECT EXISTS (SELECT FROM written) AS "taken!", refusal, reserved AS "reserved: Usdc", retry_after_s,
                      as_of AS "as_of!"
               FROM verdict"#,
            call.record.to_string(),
            call.caller.to_string(),
            call.session_key.as_ref().map(Pubkey::to_string),
            call.agent.to_string(),
            amount_to_db("amount", call.amount.0)?,
            saturating_to_db(funds.wallet.0),
            saturating_to_db(funds.key.0),
            read_at,
            read_age_s,
            i64::from(under_way.key),
            i64::from(under_way.wallet),
            i64::from(under_way.agent),
            i64::from(failures.key),
            i64::from(failures.wallet),
            i64::from(failures.agent),
            i64::from(call.timeout_seconds),
            call.endpoint,
            call.body_hash.as_slice(),
            token,
            self.lease_seconds,
            self.process(),
            call.execution_id,
            call.idempotency_key.as_deref(),
            call.is_async,
            request,
            call.request_hash.as_slice(),
            opened_at,
            again,
        );
        Ok(verdict.fetch_one(&mut *connection).await?)
    }
}

/// Deletes the failures that no limit counts any longer.
pub async fn forget_old_failures(pool: &PgPool) -> Result<()> {
    run(pool, sqlx::query!("DELETE FROM call_failures WHERE at < now() - interval '1 hour'")).await
}
