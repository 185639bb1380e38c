//! Opening the escrow: the one step that takes the caller's session key, and so the caller's presence.

use std::time::{Duration, Instant};

use chrono::Utc;
use crtx_chain::{SignedTransaction, Simulation, instructions::Opening};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_store::executions::{Call, Failure, Lease, State, TransactionKind};
use solana_keypair::Keypair;
use solana_signer::Signer;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Ended, EngineError, RESUME_AFTER, Work,
    transactions::{Landed, stored},
};
use crate::state::{Gateway, Parts};

/// Generous limit: unused units cost nothing unless a priority fee is set.
const OPEN_UNITS: u32 = 80_000;

/// An opening that was signed and simulated. Nothing of it has left this process.
struct PreparedOpening {
    transaction: SignedTransaction,
    simulation: Simulation,
}

/// An opening that is being signed and simulated, while the call is admitted. Dropping it stops the work.
pub(crate) struct PreparingOpening(AbortOnDropHandle<(Result<PreparedOpening, EngineError>, Duration)>);

impl Gateway {
    /// Begins to sign and to simulate the opening of a call.
    pub(crate) fn prepare_opening(&self, call: Call, caller: Caller) -> PreparingOpening {
        let gateway = self.clone();
        PreparingOpening(AbortOnDropHandle::new(tokio::spawn(async move {
            let (parts, started) = (gateway.parts(), Instant::now());
            let prepared = async {
                let transaction = parts.sign_opening(&call, &caller).await?;
                let simulation = parts.chain.simulate(&transaction).await;
                Ok(PreparedOpening { transaction, simulation })
            };
            let prepared = prepared.await;
            (prepared, started.elapsed())
        })))
    }
}

impl Parts {
    /// Opens the escrow. `None`: it is open, go on.
    pub(super) async fn open(
        &self,
        work: &mut Work,
        caller: &Caller,
        opening: PreparingOpening,
    ) -> Result<Option<Ended>, EngineError> {
        let (prepared, took) = opening.0.await.map_err(|_| EngineError::Incomplete("its opening"))?;
        work.clock.chain = work.clock.chain.saturating_add(took);
        let PreparedOpening { transaction, simulation } = match prepared {
            Ok(prepared) => prepared,
            Err(EngineError::Chain(error)) => {
                return self.not_opened(work.lease, ApiError::unavailable(error)).await.map(Some);
            }
            Err(error) => return Err(error),
        };
        if let Simulation::Refused(refused) = simulation {
            let ended = self.refused_by_simulation(work.lease, &work.call, caller, &refused).await?;
            if ended.is_none() {
                // Open without this worker, which has not seen what happened to the record since.
                (work.state, work.fresh) = (State::Pending, false);
            }
            return Ok(ended);
        }
        self.executions.opening(work.lease, &stored(&transaction)).await?;
        match self.send_unnoted(work, &transaction, self.config.limits.open_patience).await? {
            Ok(landing) => {
                self.executions.opened_and_dispatching(work.lease, &landing).await?;
                work.state = State::Running;
                work.dispatched_at = Some(Utc::now());
                Ok(None)
            }
            Err(Landed::Unknown) => self.leave(work, RESUME_AFTER, Ended::OpeningUnknown).await,
            Err(Landed::Yes | Landed::Rejected | Landed::Expired) => self.opening_refused(work, Some(caller)).await,
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

    /// The opening did not land as signed. The record decides: somebody may have opened it before.
    async fn opening_refused(&self, work: &mut Work, caller: Option<&Caller>) -> Result<Option<Ended>, EngineError> {
        if let Some(record) = self.snapshot(&work.call).await?.record {
            if record.request_hash == work.call.request_hash && record.agent == work.call.agent {
                self.executions.opened(work.lease).await?;
                work.state = State::Pending;
                // Whatever happened to the record before, this worker has not seen it.
                work.fresh = false;
                return Ok(None);
            }
            let error = ApiError::new(ErrorCode::Conflict, "the chain has another call under this execution id");
            return self.not_opened(work.lease, error).await.map(Some);
        }
        let reason = match caller {
            Some(caller) => self.terms(&caller.into(), &work.call.agent).await.err(),
            None => None,
        };
        // A reason of the call's own: whoever lost a race for the wallet's money never had an execution.
        if let Some(reason) = reason.clone().filter(|reason| reason.code != ErrorCode::Unavailable) {
            return self.never_opened(work.lease, reason).await.map(Some);
        }
        let error = reason.unwrap_or_else(|| {
            ApiError::new(
                ErrorCode::Unavailable,
                "the escrow could not be opened in time; nothing was charged, try again with the same Idempotency-Key",
            )
        });
        self.not_opened(work.lease, error).await.map(Some)
    }

    pub(crate) async fn not_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        let failure = Failure {
            reason: None,
            status: error.status().as_u16(),
            code: error.code.as_str().to_owned(),
            message: error.message,
        };
        self.executions.not_opened(lease, &failure).await?;
        Ok(Ended::NotOpened(failure))
    }

    /// What became of an opening that a worker before this one sent.
    pub(super) async fn resolve_opening(&self, work: &mut Work) -> Result<Option<Ended>, EngineError> {
        match self.resolve(work, TransactionKind::Open).await? {
            Landed::Yes => {
                self.executions.opened(work.lease).await?;
                work.state = State::Pending;
                Ok(None)
            }
            Landed::Rejected | Landed::Expired => self.opening_refused(work, None).await,
            Landed::Unknown => self.leave(work, RESUME_AFTER, Ended::OpeningUnknown).await,
        }
    }
}
