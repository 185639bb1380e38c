//! Opens the escrow. This is the only step that needs the caller's session key, and so the caller's request.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use agent_marketplace::error::MarketplaceError;
use crtx_chain::{Execution, SignedTransaction, Simulation, instructions::Opening, simulate::Refused};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_protocol::{transaction::Outcome, usdc::UsdcBase};
use crtx_store::executions::{Call, Lease, State, TransactionKind};
use solana_instruction::Instruction;
use solana_keypair::Keypair;
use solana_signer::Signer;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Engine,
    ended::{Ended, EngineError, Step, failure},
    run::RESUME_AFTER,
    transactions::{landing, stored},
    view::check_is_of,
    work::Work,
};
use crate::{
    admission::{fee_payer, insufficient},
    terms::CallTerms,
};

/// Generous limit: unused units cost nothing unless a priority fee is set.
pub(super) const OPEN_UNITS: u32 = 80_000;

fn opening_of(call: &Call, agreed: Agreed) -> Opening {
    Opening {
        agent: call.agent,
        execution_id: call.execution_id.into_bytes(),
        request_hash: call.request_hash,
        max_amount: call.amount.0,
        terms_hash: Some(agreed.terms_hash),
        min_cover: agreed.min_cover,
    }
}

/// An opening that is signed and being simulated, but not sent.
pub(crate) struct Prepared {
    instruction: Instruction,
    transaction: SignedTransaction,
    /// Returns how long signing and simulating took, too. Dropping it cancels the simulation.
    simulation: AbortOnDropHandle<(Simulation, Duration)>,
}

/// What an opening demands of the listing that the call was checked against.
#[derive(Clone, Copy)]
pub(crate) struct Agreed {
    /// The program refuses the opening if one of the terms has changed, of the listing or of the market.
    terms_hash: [u8; 32],
    /// The program refuses the opening if the free collateral has fallen below what the creator promises.
    min_cover: u8,
}

impl Agreed {
    pub fn with(terms: &CallTerms) -> Self {
        Self { terms_hash: terms.listing.terms_hash(terms.market), min_cover: terms.listing.min_cover }
    }
}

/// The opening of a call that is admitted.
pub(crate) struct ToOpen {
    pub caller: Caller,
    pub agreed: Agreed,
    /// Signed and simulated while the call is admitted. Dropping it cancels the work. `None`: nothing is signed yet.
    pub prepared: Option<AbortOnDropHandle<Result<Prepared, EngineError>>>,
}

impl ToOpen {
    /// Starts to sign and simulate the opening.
    pub fn prepare(engine: &Arc<Engine>, call: &Call, caller: &Caller, agreed: Agreed) -> Self {
        let (engine, call, signer) = (Arc::clone(engine), call.clone(), caller.clone());
        let work = async move { engine.sign_and_simulate(&call, &signer, agreed).await };
        let prepared = Some(AbortOnDropHandle::new(tokio::spawn(work)));
        Self { caller: caller.clone(), agreed, prepared }
    }
}

impl Engine {
    /// Opens the escrow.
    pub(super) async fn open(&self, work: &mut Work, opening: ToOpen) -> Step {
        let ToOpen { caller, agreed, prepared } = opening;
        let prepared = match prepared {
            Some(task) => task.await.map_err(|_| EngineError::Incomplete("its opening"))?,
            None => self.sign_and_simulate(&work.call, &caller, agreed).await,
        };
        let Prepared { instruction, transaction, simulation } = match prepared {
            Ok(prepared) => prepared,
            Err(EngineError::Chain(error)) => {
                return self.not_opened(work.lease, ApiError::unavailable(error)).await.map(Some);
            }
            Err(error) => return Err(error),
        };
        let lease = work.lease;
        let store = async || self.executions.signed(lease, TransactionKind::Open, &stored(&transaction)).await;
        let goes_alone = self.opens_alone(&work.call, &caller);
        if goes_alone {
            // The simulation goes on meanwhile.
            store().await?;
        }
        let (simulation, took) = simulation.await.map_err(|_| EngineError::Incomplete("its simulation"))?;
        work.spent.chain = work.spent.chain.saturating_add(took);
        if let Simulation::Refused(refused) = simulation {
            let state = if goes_alone { State::Opening } else { State::Reserved };
            if goes_alone {
                // It cannot land: it was not sent, and nobody else has its signatures.
                self.note(work, &transaction.signature.to_string(), &Outcome::Expired).await?;
            }
            return self.refused_by_simulation(work, state, &caller, &refused).await;
        }
        let shared = if goes_alone { None } else { self.open_with_others(work, &caller, instruction).await };
        let (transaction, outcome) = match shared {
            Some((shared, outcome)) => {
                let outcome = self.outcome_of_shared(work, &shared, outcome).await?;
                (shared, outcome)
            }
            None => {
                if !goes_alone {
                    store().await?;
                }
                let outcome = self.send(work, &transaction, self.config.limits.open_patience).await?;
                (transaction, outcome)
            }
        };
        match outcome {
            Outcome::Confirmed { slot } => {
                // At the same time: the request to the creator names what the record says, and neither waits for the other.
                let landed = landing(&transaction, slot);
                let (noted, seen) = tokio::join!(
                    self.executions.opened_and_dispatching(work.lease, &landed),
                    work.hold.unless_lost(self.view_of_open(&work.call)),
                );
                noted?;
                work.saw(seen??);
                (work.state, work.fresh) = (State::Running, true);
                Ok(None)
            }
            Outcome::Unknown => self.leave(work, RESUME_AFTER, Ended::OpeningUnknown).await.map(Some),
            Outcome::Rejected { .. } | Outcome::Expired => self.opening_refused(work, Some(&caller)).await,
        }
    }

    async fn sign_and_simulate(&self, call: &Call, caller: &Caller, agreed: Agreed) -> Result<Prepared, EngineError> {
        let started = Instant::now();
        let (instruction, transaction) = self.sign_opening(call, caller, agreed).await?;
        let (chain, signed) = (self.chain.clone(), transaction.clone());
        let simulate = async move { (chain.simulate(&signed).await, started.elapsed()) };
        let simulation = AbortOnDropHandle::new(tokio::spawn(simulate));
        Ok(Prepared { instruction, transaction, simulation })
    }

    async fn sign_opening(
        &self,
        call: &Call,
        caller: &Caller,
        agreed: Agreed,
    ) -> Result<(Instruction, SignedTransaction), EngineError> {
        let session = Keypair::new_from_array(caller.key.session_signing_key().to_bytes());
        let gateway = &*self.config.keypair;
        let opening = opening_of(call, agreed);
        let build = &self.instructions;
        let open = build.open_execution_with_grant(&caller.wallet, &caller.session_key, &gateway.pubkey(), &opening);
        let blockhash = self.chain.recent_blockhash().await?;
        let mut instructions = Self::budget(OPEN_UNITS, self.unit_price(&call.agent, None));
        instructions.push(open.clone());
        Ok((open, SignedTransaction::sign(&instructions, &[gateway, &session], blockhash)?))
    }

    /// A simulation failed; nothing is sent.
    async fn refused_by_simulation(&self, work: &mut Work, state: State, caller: &Caller, refused: &Refused) -> Step {
        tracing::info!(error = %refused.error(), "the chain would refuse the opening");
        let record = match self.chain.account(&work.call.record).await {
            Ok(read) => self.decode::<Execution>(read.value.as_ref()),
            Err(error) => return self.never_opened(work.lease, ApiError::unavailable(error)).await.map(Some),
        };
        let error = match record {
            Some(record) => match check_is_of(&record, &work.call) {
                Ok(()) => {
                    self.executions.opened(work.lease, state).await?;
                    work.state = State::Pending;
                    return Ok(None);
                }
                Err(error) => error,
            },
            None => match self.terms(&caller.wallet, &caller.session_key, &work.call.agent).await {
                Err(reason) => reason,
                Ok(terms) => in_words(refused, &work.call, &terms),
            },
        };
        self.never_opened(work.lease, error).await.map(Some)
    }

    /// The opening did not land as signed. The record decides, because another worker may have opened it before.
    async fn opening_refused(&self, work: &mut Work, caller: Option<&Caller>) -> Step {
        if let Some(record) = self.view(&work.call).await?.record {
            if let Err(error) = check_is_of(&record, &work.call) {
                return self.not_opened(work.lease, error).await.map(Some);
            }
            return self.found_opened(work).await;
        }
        let reason = match caller {
            Some(caller) => self.terms(&caller.wallet, &caller.session_key, &work.call.agent).await.err(),
            None => None,
        };
        let error = reason.unwrap_or_else(|| {
            ApiError::new(
                ErrorCode::Unavailable,
                "the escrow could not be opened in time; nothing was charged, try again with the same Idempotency-Key",
            )
        });
        // A reason that concerns the call itself wins: a call that lost a race for the wallet's money leaves no
        // execution.
        if error.code == ErrorCode::Unavailable {
            self.not_opened(work.lease, error).await.map(Some)
        } else {
            self.never_opened(work.lease, error).await.map(Some)
        }
    }

    async fn found_opened(&self, work: &mut Work) -> Step {
        self.executions.opened(work.lease, State::Opening).await?;
        work.state = State::Pending;
        Ok(None)
    }

    /// Resolves an opening that an earlier worker sent.
    pub(super) async fn resolve_opening(&self, work: &mut Work) -> Step {
        match self.resolve(work, TransactionKind::Open).await? {
            Outcome::Confirmed { .. } => self.found_opened(work).await,
            Outcome::Rejected { .. } | Outcome::Expired => self.opening_refused(work, None).await,
            Outcome::Unknown => self.leave(work, RESUME_AFTER, Ended::OpeningUnknown).await.map(Some),
        }
    }

    /// Ends a call whose escrow was not opened, and stores it as failed.
    pub(super) async fn not_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        let failure = failure(error.code, None, error.message);
        self.executions.not_opened(lease, &failure).await?;
        Ok(Ended::NotOpened(failure))
    }

    /// Ends a call whose escrow was not opened. If no transaction of it can land any more, its row is deleted: the
    /// answer has no id, no list shows it, and its idempotency key is free. Otherwise it is stored as failed.
    async fn never_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        if self.executions.forget(lease).await? {
            return Ok(Ended::NeverOpened(error));
        }
        self.not_opened(lease, error).await
    }
}

/// The terms that were read again allow the call, so the cause of the failed simulation is gone or is not one of the
/// terms.
fn in_words(refused: &Refused, call: &Call, terms: &CallTerms) -> ApiError {
    const PRICE_ROSE: u32 = MarketplaceError::PriceAboveMaximum as u32;
    const TERMS_CHANGED: u32 = MarketplaceError::TermsChanged as u32;
    const COVER_FELL: u32 = MarketplaceError::CoverTooLow as u32;
    if refused.is_short_of_funds() {
        return insufficient(terms.funds.holding, terms.funds.approved, UsdcBase(0), call.amount);
    }
    let problem = match (refused, refused.program_error()) {
        (Refused::Payer(_), _) => return fee_payer::empty(),
        (_, Some(PRICE_ROSE)) => "the agent's price rose while the call was prepared".to_owned(),
        (_, Some(COVER_FELL)) => "a claim was raised on the agent's collateral while the call was prepared".to_owned(),
        (_, Some(TERMS_CHANGED)) => "the agent's terms changed while the call was prepared".to_owned(),
        (Refused::Instruction(error), _) => format!("the chain would refuse to open the escrow ({error})"),
    };
    let message = format!("{problem}; nothing was charged, try again");
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(Duration::from_secs(1))
}
