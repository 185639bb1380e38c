//! Opens the escrow. This is the only step that needs the caller's session key, and so the caller's request.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crtx_chain::{SignedTransaction, Simulation, instructions::Opening};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_protocol::transaction::Outcome;
use crtx_store::executions::{Call, State, TransactionKind};
use solana_keypair::Keypair;
use solana_signer::Signer;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Engine,
    ended::Ended,
    error::EngineError,
    handover::RESUME_AFTER,
    transactions::{landing, stored},
    view::check_is_of,
    work::{ResumedCall, Work},
};

/// Generous limit: unused units cost nothing unless a priority fee is set.
const OPEN_UNITS: u32 = 80_000;

/// An opening that was signed and simulated, but not sent.
struct PreparedOpening {
    transaction: SignedTransaction,
    simulation: Simulation,
}

/// An opening that is signed and simulated while the call is admitted. Dropping it cancels the work.
pub(crate) struct PreparingOpening(AbortOnDropHandle<(Result<PreparedOpening, EngineError>, Duration)>);

/// The opening of a call that is admitted.
pub(crate) enum ToOpen {
    Prepared(PreparingOpening),
    /// Nothing is signed yet. The hash is the one of the terms that the call was checked against.
    OnTerms([u8; 32]),
}

/// Whether the escrow is open.
pub(super) enum Opened {
    /// This worker opened it a moment ago.
    Now,
    /// It was opened earlier, and this worker has not read the record since.
    Before,
    No(Ended),
}

impl Engine {
    /// Starts to sign and simulate the opening of a call. `terms_hash` is the hash of the listing's terms that the call
    /// was checked against: the program refuses the opening if the creator has changed one of them.
    pub(crate) fn prepare_opening(
        self: &Arc<Self>,
        call: Call,
        caller: Caller,
        terms_hash: [u8; 32],
    ) -> PreparingOpening {
        let engine = Arc::clone(self);
        PreparingOpening(AbortOnDropHandle::new(tokio::spawn(async move {
            let started = Instant::now();
            let prepared = async {
                let transaction = engine.sign_opening(&call, &caller, terms_hash).await?;
                let simulation = engine.chain.simulate(&transaction).await;
                Ok(PreparedOpening { transaction, simulation })
            };
            let prepared = prepared.await;
            (prepared, started.elapsed())
        })))
    }

    /// Opens the escrow.
    pub(super) async fn open(
        &self,
        work: &mut Work,
        caller: &Caller,
        opening: PreparingOpening,
    ) -> Result<Opened, EngineError> {
        let (prepared, took) = opening.0.await.map_err(|_| EngineError::Incomplete("its opening"))?;
        work.spent.chain = work.spent.chain.saturating_add(took);
        let PreparedOpening { transaction, simulation } = match prepared {
            Ok(prepared) => prepared,
            Err(EngineError::Chain(error)) => {
                return self.not_opened(work.lease, ApiError::unavailable(error)).await.map(Opened::No);
            }
            Err(error) => return Err(error),
        };
        if let Simulation::Refused(refused) = simulation {
            return self.refused_by_simulation(work, caller, &refused).await;
        }
        self.executions.opening(work.lease, &stored(&transaction)).await?;
        match self.send_unnoted(work, &transaction, self.config.limits.open_patience).await? {
            Outcome::Confirmed { slot } => {
                self.executions.opened_and_dispatching(work.lease, &landing(&transaction, slot)).await?;
                Ok(Opened::Now)
            }
            Outcome::Unknown => self.leave(work, RESUME_AFTER, Ended::OpeningUnknown).await.map(Opened::No),
            Outcome::Rejected { .. } | Outcome::Expired => self.opening_refused(work, Some(caller)).await,
        }
    }

    async fn sign_opening(
        &self,
        call: &Call,
        caller: &Caller,
        terms_hash: [u8; 32],
    ) -> Result<SignedTransaction, EngineError> {
        let session = Keypair::new_from_array(caller.key.session_signing_key().to_bytes());
        let gateway = &*self.config.keypair;
        let opening = Opening {
            agent: call.agent,
            execution_id: call.execution_id.into_bytes(),
            request_hash: call.request_hash,
            max_amount: call.amount.0,
            terms_hash: Some(terms_hash),
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

    /// The opening did not land as signed. The record decides, because another worker may have opened it before.
    async fn opening_refused(&self, work: &Work, caller: Option<&Caller>) -> Result<Opened, EngineError> {
        if let Some(record) = self.view(&work.call).await?.record {
            if let Err(error) = check_is_of(&record, &work.call) {
                return self.not_opened(work.lease, error).await.map(Opened::No);
            }
            self.executions.opened(work.lease).await?;
            return Ok(Opened::Before);
        }
        let reason = match caller {
            Some(caller) => self.terms(caller, &work.call.agent).await.err(),
            None => None,
        };
        // A reason that concerns the call itself wins: a call that lost a race for the wallet's money leaves no
        // execution.
        if let Some(reason) = reason.clone().filter(|reason| reason.code != ErrorCode::Unavailable) {
            return self.never_opened(work.lease, reason).await.map(Opened::No);
        }
        let error = reason.unwrap_or_else(|| {
            ApiError::new(
                ErrorCode::Unavailable,
                "the escrow could not be opened in time; nothing was charged, try again with the same Idempotency-Key",
            )
        });
        self.not_opened(work.lease, error).await.map(Opened::No)
    }

    /// Resolves an opening that an earlier worker sent. `None`: the state has changed and the next step must be
    /// chosen.
    pub(super) async fn resolve_opening(&self, call: &mut ResumedCall<'_>) -> Result<Option<Ended>, EngineError> {
        let opened = match self.resolve(call.work, TransactionKind::Open).await? {
            Outcome::Confirmed { .. } => {
                self.executions.opened(call.work.lease).await?;
                Opened::Before
            }
            Outcome::Rejected { .. } | Outcome::Expired => self.opening_refused(call.work, None).await?,
            Outcome::Unknown => {
                return self.leave(call.work, RESUME_AFTER, Ended::OpeningUnknown).await.map(Some);
            }
        };
        match opened {
            Opened::No(ended) => Ok(Some(ended)),
            Opened::Now | Opened::Before => {
                call.state = State::Pending;
                Ok(None)
            }
        }
    }
}
