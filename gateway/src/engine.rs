//! Carries one execution from its reservation to settlement or refund (design section 6).
//!
//! Every step is stored before its effect, and every transaction before it is sent. What a step finds is
//! never taken from memory of an earlier attempt: a worker that takes over asks the chain. The caller's
//! session key is needed for the opening alone; everything after it can be resumed by any gateway.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_marketplace::state::{ExecutionRecord, ExecutionStatus, FailureReason};
use chrono::{DateTime, Utc};
use crtx_chain::{
    ChainError, Outcome, SignError, SignedTransaction,
    instructions::{Opening, Settlement, compute_unit_limit, compute_unit_price},
};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_protocol::result_hash::ResultHash;
use crtx_store::{
    StoreError,
    executions::{
        Call, Delivered, Execution, ExecutionsError, Failure, Lease, Resolution, State, StoredTransaction,
        TransactionKind,
    },
};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;
use tokio::sync::watch;
use tracing::Instrument;
use uuid::Uuid;

use crate::{
    content::ContentError,
    creator::CreatorError,
    snapshot::Snapshot,
    state::{Gateway, Parts},
    terms::now_unix_s,
};

/// Ample for each instruction: what is asked for and not used costs nothing without a price, and a
/// settlement must never fail for the want of it.
const OPEN_UNITS: u32 = 80_000;
const SETTLE_UNITS: u32 = 60_000;

/// Settlements or refunds that the chain refuses before the gateway thinks again.
const MAX_REJECTIONS: u32 = 3;
/// Pause after a refusal: what made the chain refuse may pass.
const AFTER_REJECTION: Duration = Duration::from_millis(200);
/// Pause before a worker takes up an execution whose last transaction is still unknown, or that met an error.
const RESUME_AFTER: Duration = Duration::from_secs(2);
/// Time kept back for settlement when a call is sent to the creator a second time.
const SETTLE_MARGIN_S: i64 = 15;

/// How every failure's message ends once the escrow is back with the caller.
pub(crate) const REFUNDED: &str = "the escrow was refunded";

/// How an execution left this worker's hands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    Completed(Box<Delivered>),
    /// Refunded, on chain.
    Failed(Failure),
    /// Nothing was charged.
    NotOpened(Failure),
    /// The opening was sent and its outcome is not known yet.
    OpeningUnknown,
    /// The result is good; the settlement's outcome is not known yet.
    StillSettling,
    /// The refund's outcome is not known yet.
    RefundPending(Failure),
}

impl Ended {
    const fn name(&self) -> &'static str {
        match self {
            Self::Completed(_) => "completed",
            Self::Failed(_) => "refunded",
            Self::NotOpened(_) => "not opened",
            Self::OpeningUnknown => "opening unknown",
            Self::StillSettling => "still settling",
            Self::RefundPending(_) => "refund pending",
        }
    }
}

/// What a waiting handler can see.
#[derive(Clone, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Opening,
    Open(Clock),
    Ended(Arc<Ended>, Clock),
}

/// Where the time of a call went, beside the gateway itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    pub chain: Duration,
    pub creator: Duration,
}

impl Clock {
    pub fn add(&mut self, other: Self) {
        self.chain = self.chain.saturating_add(other.chain);
        self.creator = self.creator.saturating_add(other.creator);
    }

    pub async fn chain<T>(&mut self, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let value = work.await;
        self.chain = self.chain.saturating_add(started.elapsed());
        value
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("another worker has taken over")]
    LeaseLost,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error("the chain does not have what it confirmed: {0}")]
    Missing(&'static str),
    #[error("the stored execution lacks {0}")]
    Incomplete(&'static str),
}

impl From<ExecutionsError> for EngineError {
    fn from(error: ExecutionsError) -> Self {
        match error {
            ExecutionsError::LeaseLost => Self::LeaseLost,
            ExecutionsError::Store(error) => Self::Store(error),
        }
    }
}

/// One execution in a worker's hands.
struct Work {
    lease: Lease,
    call: Call,
    state: State,
    delivered: Option<Delivered>,
    failure: Option<Failure>,
    dispatched_at: Option<DateTime<Utc>>,
    /// What the chain was last seen to hold; none if nobody looked yet.
    seen: Option<Snapshot>,
    /// Opened by this very worker a moment ago: nobody else can have touched it.
    fresh: bool,
    clock: Clock,
}

/// What became of a transaction, once more than "unknown" can be said.
enum Landed {
    Yes,
    /// Rejected or expired: the chain is as it was.
    No,
    Unknown,
}

/// Whether a result can still be settled.
enum Settling {
    Open,
    /// Somebody else has settled this very result.
    Settled,
    Lost(Failure),
}

impl Gateway {
    /// Starts a reserved call, in a task of its own: it goes on when the caller hangs up.
    pub(crate) fn start(&self, lease: Lease, call: Call, caller: Caller) -> watch::Receiver<Stage> {
        let (stage, watched) = watch::channel(Stage::default());
        let gateway = self.clone();
        let span = tracing::info_span!("call", execution = %call.execution_id, agent = %call.agent);
        let task = async move {
            let parts = gateway.parts();
            let mut clock = Clock::default();
            let work = async {
                if let Some(ended) = parts.open(lease, &call, &caller, &mut clock).await? {
                    return Ok((ended, clock));
                }
                stage.send_replace(Stage::Open(clock));
                let mut work = Work::fresh(lease, call, clock);
                let ended = parts.carry_on(&mut work).await?;
                Ok((ended, work.clock))
            };
            if let Some((ended, clock)) = parts.under_lease(lease, work).await {
                tracing::info!(outcome = ended.name(), creator = ?clock.creator, chain = ?clock.chain, "call ended");
                stage.send_replace(Stage::Ended(Arc::new(ended), clock));
            }
        };
        self.parts().tasks.spawn(task.instrument(span));
        watched
    }

    /// Takes up an execution that was left behind.
    pub(crate) async fn resume(&self, lease: Lease) {
        let parts = self.parts();
        let work = async {
            let execution = parts.executions.get(&lease.record).await?;
            let mut work = Work::resumed(lease, execution.ok_or(EngineError::Incomplete("its row"))?);
            tracing::info!(record = %lease.record, state = work.state.as_str(), "resuming");
            parts.carry_on(&mut work).await
        };
        parts.under_lease(lease, work).await;
    }
}

impl Work {
    fn fresh(lease: Lease, call: Call, clock: Clock) -> Self {
        Self {
            lease,
            call,
            state: State::Pending,
            delivered: None,
            failure: None,
            dispatched_at: None,
            seen: None,
            fresh: true,
            clock,
        }
    }

    fn resumed(lease: Lease, execution: Execution) -> Self {
        Self {
            lease,
            state: execution.state,
            delivered: execution.delivered,
            failure: execution.failure,
            dispatched_at: execution.dispatched_at,
            call: execution.call,
            seen: None,
            fresh: false,
            clock: Clock::default(),
        }
    }

    fn record(&self) -> Result<&ExecutionRecord, EngineError> {
        self.seen.as_ref().and_then(|seen| seen.record.as_ref()).ok_or(EngineError::Missing("the record"))
    }

    fn delivered(&self) -> Result<&Delivered, EngineError> {
        self.delivered.as_ref().ok_or(EngineError::Incomplete("its result"))
    }

    fn failure(&self) -> Result<&Failure, EngineError> {
        self.failure.as_ref().ok_or(EngineError::Incomplete("its failure"))
    }
}

impl Parts {
    /// Works while the lease holds. After an error the execution is left for a worker to resume.
    async fn under_lease<T>(&self, lease: Lease, work: impl Future<Output = Result<T, EngineError>>) -> Option<T> {
        let result = tokio::select! {
            result = work => result,
            () = self.keep(lease) => Err(EngineError::LeaseLost),
        };
        match result {
            Ok(value) => Some(value),
            Err(EngineError::LeaseLost) => {
                tracing::warn!(record = %lease.record, "the lease is lost");
                None
            }
            Err(error) => {
                tracing::error!(record = %lease.record, %error, "the execution is left for a worker to resume");
                if let Err(error) = self.executions.postpone(lease, RESUME_AFTER).await {
                    tracing::warn!(record = %lease.record, %error, "the lease runs out by itself");
                }
                None
            }
        }
    }

    /// Renews the lease until it is lost.
    async fn keep(&self, lease: Lease) {
        loop {
            tokio::time::sleep(self.config.limits.lease.div_f32(3.0)).await;
            match self.executions.renew(lease).await {
                Ok(true) => {}
                Ok(false) => return,
                // The lease may hold still; whoever works under it meets the same database.
                Err(error) => tracing::warn!(record = %lease.record, %error, "the lease could not be renewed"),
            }
        }
    }

    /// Opens the escrow. `None`: it is open, go on.
    async fn open(
        &self,
        lease: Lease,
        call: &Call,
        caller: &Caller,
        clock: &mut Clock,
    ) -> Result<Option<Ended>, EngineError> {
        let transaction = match clock.chain(self.sign_opening(call, caller)).await {
            Ok(transaction) => transaction,
            Err(EngineError::Chain(error)) => {
                return self.not_opened(lease, ApiError::unavailable(error)).await.map(Some);
            }
            Err(error) => return Err(error),
        };
        self.executions.opening(lease, &stored(&transaction)).await?;
        let patience = self.config.limits.open_patience;
        let outcome = clock.chain(self.chain.send_and_confirm(&transaction, patience)).await;
        match self.note(&transaction.signature.to_string(), &outcome).await? {
            Landed::Yes => {
                self.executions.opened(lease).await?;
                Ok(None)
            }
            Landed::No => self.opening_refused(lease, call, Some(caller)).await,
            Landed::Unknown => {
                self.executions.postpone(lease, RESUME_AFTER).await?;
                Ok(Some(Ended::OpeningUnknown))
            }
        }
    }

    async fn sign_opening(&self, call: &Call, caller: &Caller) -> Result<SignedTransaction, EngineError> {
        let session = Keypair::new_from_array(caller.key.session_signing_key().to_bytes());
        let gateway = &*self.config.keypair;
        let opening = Opening {
            agent: call.agent,
            execution_id: call.execution_id.into_bytes(),
            request_hash: call.request_hash,
            max_amount: call.amount.0,
        };
        let open = self.instructions.open_execution_with_grant(
            &caller.wallet,
            &caller.session_key,
            &gateway.pubkey(),
            &opening,
        );
        let blockhash = self.chain.recent_blockhash().await?;
        let mut instructions = self.budget(OPEN_UNITS);
        instructions.push(open);
        Ok(SignedTransaction::sign(&instructions, &[gateway, &session], blockhash)?)
    }

    /// Asks for a random few units more than needed: signed anew with the same blockhash, a transaction
    /// would otherwise be the very one that was refused before.
    fn budget(&self, units: u32) -> Vec<Instruction> {
        let [few, ..] = Uuid::new_v4().into_bytes();
        let price = self.config.limits.compute_unit_price;
        let price = (price > 0).then(|| compute_unit_price(price));
        [compute_unit_limit(units.saturating_add(u32::from(few)))].into_iter().chain(price).collect()
    }

    /// The opening did not land as signed. The record decides: somebody may have opened it before.
    async fn opening_refused(
        &self,
        lease: Lease,
        call: &Call,
        caller: Option<&Caller>,
    ) -> Result<Option<Ended>, EngineError> {
        if let Some(record) = self.snapshot(call).await?.record {
            if record.request_hash == call.request_hash && record.agent == call.agent {
                self.executions.opened(lease).await?;
                return Ok(None);
            }
            let error = ApiError::new(ErrorCode::Conflict, "the chain has another call under this execution id");
            return self.not_opened(lease, error).await.map(Some);
        }
        let reason = match caller {
            Some(caller) => self.terms(caller, &call.agent).await.err(),
            None => None,
        };
        let error = reason.unwrap_or_else(|| {
            ApiError::new(
                ErrorCode::Unavailable,
                "the escrow could not be opened in time; nothing was charged, try again with the same Idempotency-Key",
            )
        });
        self.not_opened(lease, error).await.map(Some)
    }

    async fn not_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        let failure = Failure {
            reason: None,
            status: error.status().as_u16(),
            code: error.code.as_str().to_owned(),
            message: error.message,
        };
        self.executions.not_opened(lease, &failure).await?;
        Ok(Ended::NotOpened(failure))
    }

    /// From wherever the execution stands to its end, or to where only waiting helps.
    async fn carry_on(&self, work: &mut Work) -> Result<Ended, EngineError> {
        loop {
            let ended = match work.state {
                State::Reserved => {
                    let error = "the call was interrupted before its escrow was opened; nothing was charged";
                    Some(self.not_opened(work.lease, ApiError::new(ErrorCode::Unavailable, error)).await?)
                }
                State::Opening => self.resolve_opening(work).await?,
                State::Pending | State::Running => self.dispatch(work).await.map(|()| None)?,
                State::ResultStored | State::Settling => self.settle(work).await?,
                State::Refunding => self.refund(work).await?,
                State::Completed => Some(Ended::Completed(Box::new(work.delivered()?.clone()))),
                State::Failed => Some(Ended::Failed(work.failure()?.clone())),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// What became of an opening that a worker before this one sent.
    async fn resolve_opening(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        match self.resolve(work, TransactionKind::Open).await? {
            Landed::Yes => self.executions.opened(work.lease).await?,
            Landed::No => {
                if let Some(ended) = self.opening_refused(work.lease, &work.call, None).await? {
                    return Ok(Some(ended));
                }
            }
            Landed::Unknown => {
                self.executions.postpone(work.lease, RESUME_AFTER).await?;
                return Ok(Some(Ended::OpeningUnknown));
            }
        }
        work.state = State::Pending;
        Ok(None)
    }

    /// Sends the call to the creator and checks what comes back.
    async fn dispatch(&self, work: &mut Work) -> Result<(), EngineError> {
        let mut patience = Duration::from_secs(u64::from(work.call.timeout_seconds));
        if !work.fresh {
            work.seen = Some(self.see(&work.call).await?);
            let record = work.record()?;
            if record.status() != Some(ExecutionStatus::Open) {
                return self.give_up(work, &settled_elsewhere()).await;
            }
            let left = record.deadline_unix_s.saturating_sub(now_unix_s()).saturating_sub(SETTLE_MARGIN_S);
            patience = patience.min(Duration::from_secs(u64::try_from(left).unwrap_or(0)));
            // The creator's time began when the call was first sent; an interruption does not prolong it.
            if let Some(sent_at) = work.dispatched_at {
                let gone = Utc::now().signed_duration_since(sent_at).to_std().unwrap_or_default();
                patience = patience.saturating_sub(gone);
            }
            if patience.is_zero() {
                let timeout = CreatorError::Timeout(u64::from(work.call.timeout_seconds));
                return self.give_up(work, &timeout.failure()).await;
            }
        }
        self.executions.dispatching(work.lease).await?;
        let sent_at = *work.dispatched_at.get_or_insert_with(Utc::now);
        work.state = State::Running;
        let checked = self.ask_and_check(work, patience).await?;
        let seen = work.seen.clone();
        let mirrored = async {
            if let Some(seen) = &seen {
                self.mirror(seen).await;
            }
        };
        let kept = async {
            match checked {
                Ok(delivered) => self.keep_result(work, delivered, sent_at).await,
                Err(error) => self.give_up(work, &error.failure()).await,
            }
        };
        tokio::join!(kept, mirrored).0
    }

    /// The record is read while the creator works: its result key decides who may have signed.
    async fn ask_and_check(
        &self,
        work: &mut Work,
        patience: Duration,
    ) -> Result<Result<Delivered, CreatorError>, EngineError> {
        let started = Instant::now();
        let call = &work.call;
        let (answer, seen) = tokio::join!(self.creators.ask(call, patience), async {
            match &work.seen {
                Some(seen) => Ok(seen.clone()),
                None => self.see(call).await,
            }
        });
        work.clock.creator = work.clock.creator.saturating_add(match &answer {
            Ok(answer) => answer.elapsed,
            Err(_) => started.elapsed(),
        });
        work.seen = Some(seen?);
        let result_key = work.record()?.result_key;
        Ok(answer.and_then(|answer| answer.check(work.call.execution_id, &result_key)))
    }

    /// Content and row are stored before anything is settled. Whoever resumes from the row stores the
    /// content again, so neither has to wait for the other.
    async fn keep_result(
        &self,
        work: &mut Work,
        mut delivered: Delivered,
        sent_at: DateTime<Utc>,
    ) -> Result<(), EngineError> {
        let since_first = u64::try_from(Utc::now().signed_duration_since(sent_at).num_milliseconds()).unwrap_or(0);
        if !work.fresh {
            delivered.execution_time_ms = since_first.max(delivered.execution_time_ms);
        }
        // The program refuses times that the execution cannot have taken.
        let longest_ms = work.record()?.longest_execution_time_ms().unwrap_or(0);
        delivered.execution_time_ms = delivered.execution_time_ms.min(longest_ms);
        let content = self.content.put(delivered.result.clone());
        let (stored, row) = tokio::join!(content, self.executions.result_stored(work.lease, &delivered));
        row?;
        stored?;
        work.delivered = Some(delivered);
        work.state = State::ResultStored;
        Ok(())
    }

    async fn give_up(&self, work: &mut Work, failure: &Failure) -> Result<(), EngineError> {
        tracing::info!(record = %work.lease.record, message = failure.message, "refunding");
        self.executions.refunding(work.lease, failure).await?;
        work.failure = Some(failure.clone());
        work.state = State::Refunding;
        Ok(())
    }

    /// Settles the stored result. `None`: the state has changed, look again.
    async fn settle(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        if !work.fresh {
            // The worker before may have died between the row and the content.
            self.content.put(work.delivered()?.result.clone()).await?;
        }
        for _ in 0..MAX_REJECTIONS {
            match self.resolve(work, TransactionKind::Complete).await? {
                Landed::Yes => return self.completed(work).await,
                Landed::No => {}
                Landed::Unknown => return self.leave(work, Ended::StillSettling).await,
            }
            match self.look_before_settling(work).await? {
                Settling::Open => {}
                Settling::Settled => return self.completed(work).await,
                Settling::Lost(failure) => return self.give_up(work, &failure).await.map(|()| None),
            }
            let transaction = self.sign_settlement(work).await?;
            self.executions.settling(work.lease, &stored(&transaction)).await?;
            work.state = State::Settling;
            match self.send(work, &transaction, self.config.limits.settle_patience).await? {
                Landed::Yes => return self.completed(work).await,
                Landed::No => self.after_rejection(work).await,
                Landed::Unknown => return self.leave(work, Ended::StillSettling).await,
            }
        }
        let failure = failed("the result was good but the chain would not settle it");
        self.give_up(work, &failure).await?;
        Ok(None)
    }

    /// Looks whether the record is still open, unless this worker opened it a moment ago.
    async fn look_before_settling(&self, work: &mut Work) -> Result<Settling, EngineError> {
        if work.fresh && work.seen.is_some() {
            return Ok(Settling::Open);
        }
        work.seen = Some(self.see(&work.call).await?);
        let record = work.record()?;
        let in_time = now_unix_s() <= record.deadline_unix_s;
        match record.status() {
            Some(ExecutionStatus::Open) if in_time => Ok(Settling::Open),
            Some(ExecutionStatus::Open) => {
                Ok(Settling::Lost(failed("the result could not be settled before the deadline")))
            }
            Some(ExecutionStatus::Completed | ExecutionStatus::Disputed)
                if record.result_hash == work.delivered()?.hash =>
            {
                Ok(Settling::Settled)
            }
            _ => Ok(Settling::Lost(settled_elsewhere())),
        }
    }

    async fn sign_settlement(&self, work: &mut Work) -> Result<SignedTransaction, EngineError> {
        let seen = work.seen.as_ref().ok_or(EngineError::Missing("the record"))?;
        let record = seen.record.as_ref().ok_or(EngineError::Missing("the record"))?;
        let delivered = work.delivered()?;
        let settlement = Settlement {
            agent: work.call.agent,
            record: work.lease.record,
            creator: seen.listing.ok_or(EngineError::Missing("the listing"))?.creator,
            treasury_owner: seen.config.ok_or(EngineError::Missing("the configuration"))?.treasury_owner,
            result_key: record.result_key,
            result_hash: ResultHash(delivered.hash),
            signature: delivered.signature,
            execution_time_ms: delivered.execution_time_ms,
            tokens_used: delivered.tokens_used,
        };
        let gateway = &*self.config.keypair;
        let blockhash = work.clock.chain(self.chain.recent_blockhash()).await?;
        // Nothing may come between the proof and the settlement, so the budget stands first.
        let mut instructions = self.budget(SETTLE_UNITS);
        instructions.extend(self.instructions.complete_execution(&gateway.pubkey(), &settlement));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    async fn completed(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let (stored, seen) =
            tokio::join!(self.executions.completed(work.lease), self.see_finished(&work.call, &mut work.clock));
        stored?;
        note_unseen(seen);
        work.state = State::Completed;
        Ok(None)
    }

    /// Pays everything back. `None`: the state has changed, look again.
    async fn refund(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        for _ in 0..MAX_REJECTIONS {
            match self.resolve(work, TransactionKind::Fail).await? {
                Landed::Yes => return self.refunded(work).await,
                Landed::No => {}
                Landed::Unknown => return self.leave_refund(work).await,
            }
            if !work.fresh || work.seen.is_none() {
                work.seen = Some(self.see(&work.call).await?);
            }
            match work.record()?.status() {
                Some(ExecutionStatus::Open) => {}
                Some(ExecutionStatus::Failed | ExecutionStatus::Expired) => return self.refunded(work).await,
                _ => {
                    self.give_up(work, &settled_elsewhere()).await?;
                    return self.refunded(work).await;
                }
            }
            let transaction = self.sign_refund(work).await?;
            self.executions.refund_signed(work.lease, &stored(&transaction)).await?;
            match self.send(work, &transaction, self.config.limits.refund_patience).await? {
                Landed::Yes => return self.refunded(work).await,
                Landed::No => self.after_rejection(work).await,
                Landed::Unknown => return self.leave_refund(work).await,
            }
        }
        self.leave_refund(work).await
    }

    async fn sign_refund(&self, work: &mut Work) -> Result<SignedTransaction, EngineError> {
        let reason = match work.failure()?.reason {
            Some(1) => FailureReason::CreatorFailed,
            Some(2) => FailureReason::Timeout,
            _ => FailureReason::InvalidResponse,
        };
        let refund_owner = work.record()?.refund_owner;
        let gateway = &*self.config.keypair;
        let blockhash = work.clock.chain(self.chain.recent_blockhash()).await?;
        let mut instructions = self.budget(SETTLE_UNITS);
        let record = &work.lease.record;
        instructions.push(self.instructions.fail_execution(
            &gateway.pubkey(),
            &work.call.agent,
            record,
            &refund_owner,
            reason,
        ));
        Ok(SignedTransaction::sign(&instructions, &[gateway], blockhash)?)
    }

    async fn refunded(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let (stored, seen) =
            tokio::join!(self.executions.refunded(work.lease), self.see_finished(&work.call, &mut work.clock));
        stored?;
        note_unseen(seen);
        work.state = State::Failed;
        Ok(None)
    }

    /// From here on nothing is taken for granted.
    async fn after_rejection(&self, work: &mut Work) {
        work.fresh = false;
        tokio::time::sleep(AFTER_REJECTION).await;
    }

    async fn leave_refund(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        let failure = work.failure()?.clone();
        self.leave(work, Ended::RefundPending(failure)).await
    }

    /// Leaves the execution to a worker, a little later.
    async fn leave(&self, work: &Work, ended: Ended) -> Result<Option<Ended>, EngineError> {
        self.executions.postpone(work.lease, RESUME_AFTER).await?;
        Ok(Some(ended))
    }

    async fn send(
        &self,
        work: &mut Work,
        transaction: &SignedTransaction,
        patience: Duration,
    ) -> Result<Landed, EngineError> {
        let outcome = work.clock.chain(self.chain.send_and_confirm(transaction, patience)).await;
        self.note(&transaction.signature.to_string(), &outcome).await
    }

    /// What became of the transactions of that kind that were sent before. A fresh execution has none.
    async fn resolve(&self, work: &Work, kind: TransactionKind) -> Result<Landed, EngineError> {
        if work.fresh {
            return Ok(Landed::No);
        }
        for transaction in self.executions.unresolved(&work.lease.record, kind).await? {
            let Ok(signature) = transaction.signature.parse() else {
                return Err(EngineError::Incomplete("a signature"));
            };
            let signed = SignedTransaction {
                signature,
                bytes: transaction.bytes,
                last_valid_block_height: transaction.last_valid_block_height,
            };
            let outcome = self.chain.confirm(&signed, self.config.limits.settle_patience).await;
            match self.note(&transaction.signature, &outcome).await? {
                Landed::No => {}
                landed => return Ok(landed),
            }
        }
        Ok(Landed::No)
    }

    /// Keeps what the chain said.
    async fn note(&self, signature: &str, outcome: &Outcome) -> Result<Landed, EngineError> {
        let (resolution, landed) = match outcome {
            Outcome::Confirmed { slot, error: None } => (Resolution::Confirmed { slot: *slot }, Landed::Yes),
            Outcome::Confirmed { slot, error: Some(error) } => {
                tracing::warn!(signature, %error, "the chain refused a transaction");
                (Resolution::Rejected { slot: *slot, error: error.to_string() }, Landed::No)
            }
            Outcome::Expired => (Resolution::Expired, Landed::No),
            Outcome::Unknown => return Ok(Landed::Unknown),
        };
        self.executions.resolve(signature, &resolution).await?;
        Ok(landed)
    }
}

fn stored(transaction: &SignedTransaction) -> StoredTransaction {
    StoredTransaction {
        signature: transaction.signature.to_string(),
        bytes: transaction.bytes.clone(),
        last_valid_block_height: transaction.last_valid_block_height,
    }
}

fn failed(problem: &str) -> Failure {
    let code = ErrorCode::ExecutionFailed;
    Failure {
        reason: Some(FailureReason::InvalidResponse as u8),
        status: code.status().as_u16(),
        code: code.as_str().to_owned(),
        message: format!("{problem}; {REFUNDED}"),
    }
}

/// The creator may settle, and anybody may refund after the deadline, without this gateway.
fn settled_elsewhere() -> Failure {
    Failure {
        message: "the execution was settled or refunded on chain without this gateway; its record says which"
            .to_owned(),
        ..failed("")
    }
}

/// The money has moved and the row says so: what could not be seen of it yet changes nothing.
fn note_unseen(seen: Result<Snapshot, EngineError>) {
    if let Err(error) = seen {
        tracing::warn!(%error, "the finished record was not seen");
    }
}
