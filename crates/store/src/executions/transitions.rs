//! The steps of an execution. Each one names its lease and the state that it comes from; if one of them differs, it
//! changes nothing.

use std::collections::HashSet;

use crtx_protocol::text::without_nul;
use serde_json::Value;
use solana_pubkey::Pubkey;
use sqlx::{Postgres, postgres::PgArguments, query::Query};
use uuid::Uuid;

use super::{
    leases::Executions,
    transactions::{Landing, StoredTransaction, TransactionKind},
    types::{Charged, Delivered, Failure, Lease, Reported, SettledElsewhere, State},
};
use crate::{
    Result, StoreError,
    convert::{amount_to_db, optional_amount_to_db, saturating_to_db},
};

#[derive(Debug, thiserror::Error)]
pub enum ExecutionsError {
    /// Another worker has the lease, or the step does not follow from the stored state. Stop working on it.
    #[error("this worker may no longer change the execution")]
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

impl Executions {
    /// A step that changes no row has found another lease or another state.
    async fn take(&self, step: Query<'_, Postgres, PgArguments>) -> Step {
        let changed = step.execute(self.pool()).await?.rows_affected();
        if changed == 1 { Ok(()) } else { Err(ExecutionsError::LeaseLost) }
    }

    /// [`Self::signed_together`] for one execution.
    pub async fn signed(&self, lease: Lease, kind: TransactionKind, transaction: &StoredTransaction) -> Step {
        self.signed_together(&[lease], kind, transaction).await?.then_some(()).ok_or(ExecutionsError::LeaseLost)
    }

    /// Stores a signed transaction, which may be sent then, together with the state that goes with it, for all executions
    /// that it is about or for none: false if one of the leases is lost. reserved → opening; result_stored or settling →
    /// settling, after the settlement before has expired; refunding → refunding.
    pub async fn signed_together(
        &self,
        leases: &[Lease],
        kind: TransactionKind,
        transaction: &StoredTransaction,
    ) -> Result<bool, ExecutionsError> {
        let (from, to): (&[State], _) = match kind {
            TransactionKind::Open => (&[State::Reserved], State::Opening),
            TransactionKind::Complete => (&[State::ResultStored, State::Settling], State::Settling),
            TransactionKind::Fail => (&[State::Refunding], State::Refunding),
        };
        let from: Vec<String> = from.iter().map(|state| state.into_str().to_owned()).collect();
        let (records, tokens) = columns_of(leases.iter().copied());
        let step = sqlx::query!(
            "WITH ready AS (
                 SELECT e.record FROM executions e JOIN unnest($1::text[], $2::uuid[]) AS d (record, token)
                     ON e.record = d.record AND e.lease_owner = d.token
                 WHERE e.state = ANY($4) FOR UPDATE OF e),
             moved AS (
                 UPDATE executions e SET state = $3, lease_process = $9 FROM ready
                 WHERE e.record = ready.record AND (SELECT count(*) FROM ready) = cardinality($1)
                 RETURNING e.record)
             INSERT INTO execution_transactions (signature, record, kind, signed_transaction, last_valid_block_height)
             SELECT $5, record, $6, CASE WHEN record = min(record) OVER () THEN $7::bytea END, $8 FROM moved",
            &records,
            &tokens,
            to.into_str(),
            &from,
            transaction.signature,
            kind.into_str(),
            transaction.bytes,
            amount_to_db("block height", transaction.last_valid_block_height)?,
            self.process(),
        );
        Ok(step.execute(self.pool()).await?.rows_affected() > 0)
    }
}

/// Before the escrow exists.
impl Executions {
    /// opening → pending: the escrow is confirmed. Or reserved → pending: somebody opened the escrow of this call
    /// before this gateway sent anything.
    pub async fn opened(&self, lease: Lease, from: State) -> Step {
        let step = sqlx::query!(
            "UPDATE executions
             SET state = 'pending', opened_at = now()
             WHERE record = $1 AND lease_owner = $2 AND state = $3 AND state IN ('reserved', 'opening')",
            lease.record.to_string(),
            lease.token,
            from.into_str(),
        );
        self.take(step).await
    }

    /// opening → running, in one step: `landing` has opened the escrow, and the call is about to be sent to the
    /// creator.
    pub async fn opened_and_dispatching(&self, lease: Lease, landing: &Landing) -> Step {
        let step = sqlx::query!(
            "WITH noted AS (
                 UPDATE execution_transactions SET outcome = 'confirmed', slot = $4, resolved_at = now()
                 WHERE signature = $3 AND record = $1 AND outcome = 'unknown')
             UPDATE executions SET state = 'running', opened_at = now(), dispatched_at = now()
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2 AND state = 'opening'",
            lease.record.to_string(),
            lease.token,
            landing.signature,
            amount_to_db("slot", landing.slot)?,
        );
        self.take(step).await
    }

    /// reserved or opening → failed: no escrow exists, and no signed transaction can still create one.
    pub async fn not_opened(&self, lease: Lease, failure: &Failure) -> Step {
        let step = sqlx::query!(
            "UPDATE executions
             SET state = 'failed', error_status = $3, error_code = $4, error_message = $5,
                 finished_at = now(), lease_owner = NULL, lease_until = NULL, lease_process = NULL
             WHERE record = $1 AND lease_owner = $2 AND state IN ('reserved', 'opening')",
            lease.record.to_string(),
            lease.token,
            i32::from(failure.status),
            failure.code,
            without_nul(&failure.message),
        );
        self.take(step).await
    }

    /// Deletes a call that was never opened: no list shows it, and its idempotency key is free again. A rejected
    /// opening counts as a failure of key, wallet and agent.
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
        );
        let row = row.fetch_one(self.pool()).await?;
        match (row.gone, row.held) {
            (1, _) => Ok(true),
            (_, true) => Ok(false),
            (_, false) => Err(ExecutionsError::LeaseLost),
        }
    }
}

/// Between the opening and a result.
impl Executions {
    /// pending or running → running: about to be sent to the creator.
    pub async fn dispatching(&self, lease: Lease) -> Step {
        let step = sqlx::query!(
            "UPDATE executions
             SET state = 'running', dispatched_at = coalesce(dispatched_at, now())
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2 AND state IN ('pending', 'running')",
            lease.record.to_string(),
            lease.token,
        );
        self.take(step).await
    }

    /// Notes what the record charges, before the execution is finished.
    pub async fn charged(&self, lease: Lease, charged: &Charged) -> Step {
        let step = sqlx::query!(
            "UPDATE executions
             SET charged_amount = $3, charged_creator_amount = $4, charged_platform_amount = $5
             FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
             WHERE record = $1 AND lease_owner = $2",
            lease.record.to_string(),
            lease.token,
            amount_to_db("amount", charged.amount.0)?,
            amount_to_db("creator amount", charged.creator_amount.0)?,
            amount_to_db("platform amount", charged.platform_amount.0)?,
        );
        self.take(step).await
    }

    /// [`Self::results_stored`] for one result.
    pub async fn result_stored(
        &self,
        lease: Lease,
        delivered: &Delivered,
        settlement: Option<&StoredTransaction>,
    ) -> Step {
        let stored = self.results_stored(&[(lease, delivered)], settlement).await?;
        if stored.is_empty() { Err(ExecutionsError::LeaseLost) } else { Ok(()) }
    }

    /// running → settling, in one step: checked results, and the signed transaction that settles them. While nothing is
    /// signed: running → result_stored. Returns the records whose lease still holds; nothing is stored for others.
    pub async fn results_stored(
        &self,
        results: &[(Lease, &Delivered)],
        settlement: Option<&StoredTransaction>,
    ) -> Result<HashSet<String>, ExecutionsError> {
        let (records, tokens) = columns_of(results.iter().map(|(lease, _)| *lease));
        let delivered: Vec<&Delivered> = results.iter().map(|(_, delivered)| *delivered).collect();
        let texts: Vec<&[u8]> = delivered.iter().map(|one| one.result.as_bytes()).collect();
        let hashes: Vec<&[u8]> = delivered.iter().map(|one| one.hash.as_slice()).collect();
        let signatures: Vec<&[u8]> = delivered.iter().map(|one| one.signature.as_slice()).collect();
        let of_calls: Vec<Option<Vec<u8>>> = delivered.iter().map(|one| one.call_signature.map(Vec::from)).collect();
        let used: Vec<Option<i64>> = delivered.iter().map(|one| one.tokens_used.map(saturating_to_db)).collect();
        let times: Vec<i64> = delivered.iter().map(|one| saturating_to_db(one.execution_time_ms)).collect();
        let steps: Vec<Option<Value>> = delivered.iter().map(|one| one.steps.clone()).collect();
        let stored = sqlx::query_scalar!(
            "WITH moved AS (
                 UPDATE executions e
                 SET state = CASE WHEN $11::text IS NULL THEN 'result_stored' ELSE 'settling' END,
                     result = d.result, result_hash = d.hash, result_signature = d.signature,
                     tokens_used = d.tokens_used, execution_time_ms = d.execution_time_ms, steps = d.steps,
                     result_call_signature = d.call_signature, lease_process = $10
                 FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::int8[],
                             $8::int8[], $9::jsonb[])
                     AS d (record, token, result, hash, signature, call_signature, tokens_used, execution_time_ms, steps)
                 WHERE e.record = d.record AND e.lease_owner = d.token AND e.state = 'running'
                 RETURNING e.record),
             settlement AS (
                 INSERT INTO execution_transactions (signature, record, kind, signed_transaction, last_valid_block_height)
                 SELECT $11, record, 'complete', $12, $13 FROM moved WHERE $11 IS NOT NULL)
             SELECT record FROM moved",
            &records,
            &tokens,
            &texts as _,
            &hashes as _,
            &signatures as _,
            &of_calls as _,
            &used as _,
            &times,
            &steps as _,
            self.process(),
            settlement.map(|settlement| &*settlement.signature),
            settlement.map(|settlement| &*settlement.bytes),
            optional_amount_to_db("block height", settlement.map(|settlement| settlement.last_valid_block_height))?,
        );
        Ok(stored.fetch_all(self.pool()).await?.into_iter().collect())
    }
}

/// Records and tokens of leases, for `unnest`.
fn columns_of(leases: impl Iterator<Item = Lease>) -> (Vec<String>, Vec<Uuid>) {
    leases.map(|lease| (lease.record.to_string(), lease.token)).unzip()
}

/// Settlement: the creator is paid.
impl Executions {
    /// result_stored or settling → completed. From result_stored or refunding if somebody else settled the same
    /// result. `reported` is what the settlement says; `landing` is the transaction that settled it, if that is known.
    pub async fn completed_by(
        &self,
        lease: Lease,
        charged: &Charged,
        reported: &Reported,
        landing: Option<&Landing>,
    ) -> Step {
        let step = sqlx::query!(
            r#"WITH noted AS (
                   UPDATE execution_transactions SET outcome = 'confirmed', slot = $9, resolved_at = now()
                   WHERE signature = $8 AND record = $1 AND outcome = 'unknown'),
               ended AS (
                   UPDATE executions
                   SET state = 'completed', finished_at = now(), charged_amount = $3,
                       charged_creator_amount = $4, charged_platform_amount = $5,
                       tokens_used = $6, execution_time_ms = $7,
                       failure_reason = NULL, failure_signature = NULL, error_status = NULL, error_code = NULL,
                       error_message = NULL,
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
                   WHERE record = $1 AND lease_owner = $2 AND state IN ('result_stored', 'settling', 'refunding')
                     AND result IS NOT NULL
                   RETURNING session_key, caller),
               counted AS (
                   UPDATE api_keys
                   SET execution_count = execution_count + 1, spent = spent + $3, last_used_at = now()
                   WHERE (session_public_key, wallet) = (SELECT session_key, caller FROM ended))
               SELECT FROM ended"#,
            lease.record.to_string(),
            lease.token,
            amount_to_db("amount", charged.amount.0)?,
            amount_to_db("creator amount", charged.creator_amount.0)?,
            amount_to_db("platform amount", charged.platform_amount.0)?,
            optional_amount_to_db("tokens used", reported.tokens_used)?,
            amount_to_db("execution time", reported.execution_time_ms)?,
            landing.map(|landing| &*landing.signature),
            optional_amount_to_db("slot", landing.map(|landing| landing.slot))?,
        );
        self.take(step).await
    }

    /// Any unfinished state → completed: somebody else settled the execution on chain, with a result that is not
    /// stored here. A stored result is deleted: it is not the one that was paid for.
    pub async fn settled_elsewhere(&self, lease: Lease, settled: &SettledElsewhere) -> Step {
        let SettledElsewhere { charged, result_hash, reported } = settled;
        let step = sqlx::query!(
            r#"WITH ended AS (
                   UPDATE executions
                   SET state = 'completed', settled_elsewhere = true, result = NULL, result_signature = NULL,
                       result_call_signature = NULL, steps = NULL, result_hash = $3, tokens_used = $7, execution_time_ms = $8,
                       failure_reason = NULL, failure_signature = NULL, error_status = NULL, error_code = NULL,
                       error_message = NULL,
                       opened_at = COALESCE(opened_at, now()), finished_at = now(),
                       charged_amount = $4, charged_creator_amount = $5, charged_platform_amount = $6,
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   WHERE record = $1 AND lease_owner = $2 AND finished_at IS NULL
                   RETURNING session_key, caller),
               counted AS (
                   UPDATE api_keys
                   SET execution_count = execution_count + 1, spent = spent + $4, last_used_at = now()
                   WHERE (session_public_key, wallet) = (SELECT session_key, caller FROM ended))
               SELECT FROM ended"#,
            lease.record.to_string(),
            lease.token,
            result_hash.as_slice(),
            amount_to_db("amount", charged.amount.0)?,
            amount_to_db("creator amount", charged.creator_amount.0)?,
            amount_to_db("platform amount", charged.platform_amount.0)?,
            optional_amount_to_db("tokens used", reported.tokens_used)?,
            amount_to_db("execution time", reported.execution_time_ms)?,
        );
        self.take(step).await
    }
}

/// Refund: the caller gets the whole price back.
impl Executions {
    /// pending … refunding → refunding, with the reason. After settling only if it is certain that no settlement
    /// landed or can land.
    pub async fn refunding(&self, lease: Lease, failure: &Failure) -> Step {
        let step = sqlx::query!(
            "UPDATE executions
             SET state = 'refunding', failure_reason = $3, error_status = $4, error_code = $5,
                 error_message = $6, failure_signature = $7
             WHERE record = $1 AND lease_owner = $2
               AND state IN ('pending', 'running', 'result_stored', 'settling', 'refunding')",
            lease.record.to_string(),
            lease.token,
            failure.reason.map(i16::from),
            i32::from(failure.status),
            failure.code,
            without_nul(&failure.message),
            failure.signature.as_ref().map(<[u8; 64]>::as_slice),
        );
        self.take(step).await
    }

    /// refunding → failed: the refund is on chain.
    pub async fn refunded(&self, lease: Lease) -> Step {
        let step = sqlx::query!(
            r#"WITH ended AS (
                   UPDATE executions
                   SET state = 'failed', finished_at = now(),
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   FROM (SELECT set_config('synchronous_commit', 'off', true)) AS relaxed
                   WHERE record = $1 AND lease_owner = $2 AND state = 'refunding'
                   RETURNING session_key, caller),
               counted AS (
                   UPDATE api_keys
                   SET execution_count = execution_count + 1, last_used_at = now()
                   WHERE (session_public_key, wallet) = (SELECT session_key, caller FROM ended))
               SELECT FROM ended"#,
            lease.record.to_string(),
            lease.token,
        );
        self.take(step).await
    }

    /// Any state → failed: the record was refunded on chain. A row with a valid lease is not changed: its worker reads
    /// the record itself. Returns whether the row changed.
    pub async fn follow_refund(&self, record: &Pubkey, failure: &Failure) -> Result<bool> {
        let followed = sqlx::query!(
            r#"WITH ended AS (
                   UPDATE executions
                   SET state = 'failed', failure_reason = $2, error_status = $3, error_code = $4, error_message = $5,
                       opened_at = COALESCE(opened_at, now()), finished_at = COALESCE(finished_at, now()),
                       lease_owner = NULL, lease_until = NULL, lease_process = NULL
                   WHERE record = $1
                     AND (state <> 'failed' OR opened_at IS NULL)
                     AND (lease_until IS NULL OR lease_until < now())
                   RETURNING session_key, caller),
               counted AS (
                   UPDATE api_keys
                   SET execution_count = execution_count + 1, last_used_at = now()
                   WHERE (session_public_key, wallet) = (SELECT session_key, caller FROM ended))
               SELECT FROM ended"#,
            record.to_string(),
            failure.reason.map(i16::from),
            i32::from(failure.status),
            failure.code,
            without_nul(&failure.message),
        );
        Ok(followed.execute(self.pool()).await?.rows_affected() == 1)
    }
}
