//! The SOL of the account that pays for openings and settlements. Every call's terms read it along with the rest,
//! so a call is refused by what the chain holds at that moment; between calls it is looked at for the status
//! page and the log. What is kept back pays for the settlements and refunds of open calls.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_marketplace::state::ExecutionRecord;
use crtx_chain::ChainError;
use crtx_http::{ApiError, ErrorCode};
use crtx_store::{
    admission,
    fee_payers::{self, FeePayer, FeePayerState},
};
use solana_signer::Signer;
use tokio_util::sync::CancellationToken;

use crate::{
    config::FeePayerLimits,
    state::{Gateway, Parts},
};

/// Of an opening (gateway and session key) and of a settlement (gateway, and the creator's in the precompile).
const SIGNATURES_PER_CALL: u64 = 4;
const LAMPORTS_PER_SIGNATURE: u64 = 5_000;
/// Compute units that an opening and a settlement ask for.
const UNITS_PER_CALL: u64 = 140_512;
const RETRY_AFTER: Duration = Duration::from_secs(30);

pub(crate) struct FeePayerWatch {
    limits: FeePayerLimits,
    /// Millionths of a lamport.
    unit_price: u64,
    /// What the record of one call holds until it is closed; 0 before the node was asked.
    record_rent: AtomicU64,
    last: Mutex<Option<FeePayerState>>,
}

impl FeePayerWatch {
    pub fn new(limits: FeePayerLimits, unit_price: u64) -> Self {
        Self { limits, unit_price, record_rent: AtomicU64::new(0), last: Mutex::default() }
    }

    /// 503 `unavailable` unless `lamports` pay for another call, and for the open ones after it.
    pub fn allow(&self, lamports: u64) -> Result<(), ApiError> {
        if self.judge(lamports).0 == FeePayerState::Empty { Err(empty()) } else { Ok(()) }
    }

    /// What the balance means, and the calls it pays for.
    fn judge(&self, lamports: u64) -> (FeePayerState, u64) {
        let calls =
            lamports.saturating_sub(self.limits.reserve_lamports).checked_div(self.lamports_per_call()).unwrap_or(0);
        let state = match calls {
            0 => FeePayerState::Empty,
            calls if calls < self.limits.low_calls => FeePayerState::Low,
            _ => FeePayerState::Ok,
        };
        (state, calls)
    }

    fn lamports_per_call(&self) -> u64 {
        let priority = UNITS_PER_CALL.saturating_mul(self.unit_price).div_ceil(1_000_000);
        SIGNATURES_PER_CALL
            .saturating_mul(LAMPORTS_PER_SIGNATURE)
            .saturating_add(priority)
            .saturating_add(self.record_rent.load(Ordering::Relaxed))
    }

    /// Logs a state that was not so at the last look.
    fn note(&self, payer: &FeePayer) {
        let FeePayer { address, lamports, state, calls_left } = payer;
        let before = self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(*state);
        match state {
            _ if before == Some(*state) => {}
            FeePayerState::Ok => tracing::info!(%address, lamports, calls_left, "the fee payer has SOL"),
            FeePayerState::Low => tracing::warn!(%address, lamports, calls_left, "the fee payer runs out of SOL"),
            FeePayerState::Empty => {
                tracing::error!(%address, lamports, "the fee payer needs SOL; new calls are refused");
            }
        }
    }
}

/// The answer to a call that the gateway cannot pay fee and rent for.
pub(crate) fn empty() -> ApiError {
    let message = "the gateway's fee payer needs SOL; nothing was charged, try again later";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER)
}

/// Looks at the fee payer until `shutdown`.
pub(crate) async fn watch(gateway: Gateway, shutdown: CancellationToken) {
    let parts = gateway.parts();
    let work = async {
        loop {
            if let Err(error) = parts.look_at_fee_payer().await {
                tracing::warn!(%error, "the fee payer's balance is not known");
            }
            tokio::time::sleep(parts.config.limits.admission.fee_payer.look_every).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = shutdown.cancelled() => {}
    }
}

#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Store(#[from] crtx_store::StoreError),
}

impl Parts {
    async fn look_at_fee_payer(&self) -> Result<(), LookError> {
        // Counted failures are dropped here because this runs anyway.
        admission::forget_old_failures(self.executions.pool()).await?;
        let rent = self.chain.rpc().get_minimum_balance_for_rent_exemption(ExecutionRecord::SPACE).await;
        self.fee_payer.record_rent.store(rent.map_err(ChainError::from)?, Ordering::Relaxed);
        let address = self.config.keypair.pubkey();
        let account = self.chain.account(&address).await?.value;
        let lamports = account.map_or(0, |account| account.lamports);
        let (state, calls_left) = self.fee_payer.judge(lamports);
        let payer = FeePayer { address, lamports, state, calls_left };
        self.fee_payer.note(&payer);
        Ok(fee_payers::store(self.executions.pool(), &payer).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> FeePayerWatch {
        let limits = FeePayerLimits { look_every: Duration::from_secs(1), low_calls: 10, reserve_lamports: 1_000_000 };
        let watch = FeePayerWatch::new(limits, 0);
        watch.record_rent.store(3_980_000, Ordering::Relaxed);
        watch
    }

    #[test]
    fn a_call_costs_four_signatures_its_records_rent_and_the_price_of_its_units() {
        assert_eq!(watch().lamports_per_call(), 4_000_000);
        let busy = FeePayerWatch { unit_price: 1_000_000, ..watch() };
        assert_eq!(busy.lamports_per_call(), 4_000_000 + UNITS_PER_CALL);
    }

    #[test]
    fn the_last_call_that_is_taken_leaves_what_open_calls_need() {
        let watch = watch();
        assert_eq!(watch.judge(0), (FeePayerState::Empty, 0));
        assert_eq!(watch.judge(4_999_999), (FeePayerState::Empty, 0));
        assert_eq!(watch.judge(5_000_000), (FeePayerState::Low, 1));
        assert_eq!(watch.judge(40_999_999), (FeePayerState::Low, 9));
        assert_eq!(watch.judge(41_000_000), (FeePayerState::Ok, 10));
        assert!(watch.allow(5_000_000).is_ok());
        let refused = watch.allow(4_999_999).expect_err("refused");
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!(refused.message.contains("needs SOL") && refused.retry_after.is_some(), "{refused:?}");
    }
}
