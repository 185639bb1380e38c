//! Openings that the chain would refuse, or refused: the reason in words, and no trace of a call that never was.

use agent_marketplace::{error::MarketplaceError, state::ExecutionRecord};
use crtx_chain::simulate::Refused;
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::executions::{Call, Lease};

use super::{fee_payer, insufficient};
use crate::{
    engine::{Ended, EngineError},
    state::Parts,
    terms::Terms,
};

impl Parts {
    /// A simulation failed; nothing is sent. `None`: the escrow is open, somebody opened it before.
    pub(crate) async fn refused_by_simulation(
        &self,
        lease: Lease,
        call: &Call,
        caller: &Caller,
        refused: &Refused,
    ) -> Result<Option<Ended>, EngineError> {
        tracing::info!(error = %refused.error(), "the chain would refuse the opening");
        let record = match self.chain.account(&call.record).await {
            Ok(read) => self.decode::<ExecutionRecord>(read.value.as_ref()),
            Err(error) => return self.never_opened(lease, ApiError::unavailable(error)).await.map(Some),
        };
        let error = match record {
            Some(record) if record.request_hash == call.request_hash && record.agent == call.agent => {
                self.executions.found_open(lease).await?;
                return Ok(None);
            }
            Some(_) => ApiError::new(ErrorCode::Conflict, "the chain has another call under this execution id"),
            None => match self.terms(&caller.into(), &call.agent).await {
                Err(reason) => reason,
                Ok(terms) => in_words(refused, call, &terms),
            },
        };
        self.never_opened(lease, error).await.map(Some)
    }

    /// Ends a call of which nothing was opened. If nothing of it can land any more, it leaves no execution: the
    /// answer has no id, no list shows it, and its idempotency key is free. Else it is kept, as failed.
    pub(crate) async fn never_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        if self.executions.forget(lease).await? {
            return Ok(Ended::NeverWas(error));
        }
        self.not_opened(lease, error).await
    }
}

/// The terms, read again, allow the call: what the simulation met has passed, or is not among them.
fn in_words(refused: &Refused, call: &Call, terms: &Terms) -> ApiError {
    if refused.is_short_of_funds() {
        return insufficient(terms.funds.holding, terms.funds.approved, UsdcBase(0), call.amount);
    }
    let retry = |problem: String| {
        let message = format!("{problem}; nothing was charged, try again");
        ApiError::new(ErrorCode::Unavailable, message).with_retry_after(std::time::Duration::from_secs(1))
    };
    match refused {
        Refused::Payer(_) => fee_payer::empty(),
        _ if refused.program_error() == Some(MarketplaceError::PriceAboveMaximum as u32) => {
            retry("the agent's price rose while the call was prepared".to_owned())
        }
        Refused::Instruction(error) => retry(format!("the chain would refuse to open the escrow ({error})")),
    }
}
