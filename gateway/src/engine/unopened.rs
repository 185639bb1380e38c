//! Calls whose escrow was not opened: the error message and the stored state.

use agent_marketplace::error::MarketplaceError;
use crtx_chain::{Execution, simulate::Refused};
use crtx_http::{ApiError, Caller, ErrorCode};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::executions::{Call, Failure, Lease};

use super::{Engine, ended::Ended, error::EngineError, opening::Opened, view::check_is_of, work::Work};
use crate::{
    admission::{fee_payer, insufficient},
    terms::Terms,
};

impl Engine {
    /// A simulation failed; nothing is sent.
    pub(super) async fn refused_by_simulation(
        &self,
        work: &Work,
        caller: &Caller,
        refused: &Refused,
    ) -> Result<Opened, EngineError> {
        let (lease, call) = (work.lease, &work.call);
        tracing::info!(error = %refused.error(), "the chain would refuse the opening");
        let record = match self.chain.account(&call.record).await {
            Ok(read) => self.decode::<Execution>(read.value.as_ref()),
            Err(error) => return self.never_opened(lease, ApiError::unavailable(error)).await.map(Opened::No),
        };
        let error = match record {
            Some(record) => match check_is_of(&record, call) {
                Ok(()) => {
                    self.executions.found_open(lease).await?;
                    return Ok(Opened::Before);
                }
                Err(error) => error,
            },
            None => match self.terms(caller, &call.agent).await {
                Err(reason) => reason,
                Ok(terms) => in_words(refused, call, &terms),
            },
        };
        self.never_opened(lease, error).await.map(Opened::No)
    }

    /// Ends a call whose escrow was not opened, and stores it as failed.
    pub(super) async fn not_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        let failure = Failure {
            reason: None,
            status: error.status().as_u16(),
            code: error.code.as_str().to_owned(),
            message: error.message,
        };
        self.executions.not_opened(lease, &failure).await?;
        Ok(Ended::NotOpened(failure))
    }

    /// Ends a call whose escrow was not opened. If no transaction of it can land any more, its row is deleted: the
    /// answer has no id, no list shows it, and its idempotency key is free. Otherwise it is stored as failed.
    pub(super) async fn never_opened(&self, lease: Lease, error: ApiError) -> Result<Ended, EngineError> {
        if self.executions.forget(lease).await? {
            return Ok(Ended::NeverOpened(error));
        }
        self.not_opened(lease, error).await
    }
}

/// The terms that were read again allow the call, so the cause of the failed simulation is gone or is not one of the
/// terms.
fn in_words(refused: &Refused, call: &Call, terms: &Terms) -> ApiError {
    if refused.is_short_of_funds() {
        return insufficient(terms.funds.holding, terms.funds.approved, UsdcBase(0), call.amount);
    }
    let retry = |problem: String| {
        let message = format!("{problem}; nothing was charged, try again");
        ApiError::new(ErrorCode::Unavailable, message).with_retry_after(std::time::Duration::from_secs(1))
    };
    const PRICE_ROSE: u32 = MarketplaceError::PriceAboveMaximum as u32;
    const TERMS_CHANGED: u32 = MarketplaceError::TermsChanged as u32;
    match (refused, refused.program_error()) {
        (Refused::Payer(_), _) => fee_payer::empty(),
        (_, Some(PRICE_ROSE)) => retry("the agent's price rose while the call was prepared".to_owned()),
        (_, Some(TERMS_CHANGED)) => retry("the agent's terms changed while the call was prepared".to_owned()),
        (Refused::Instruction(error), _) => retry(format!("the chain would refuse to open the escrow ({error})")),
    }
}
