//! The SOL balance of the account that pays for openings and settlements. The terms of every call read it, so a call
//! is refused by its current value. Between calls it is read for `/v1/status` and the log. The reserve pays for the
//! settlements and refunds of open calls.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crtx_http::{ApiError, ErrorCode};
use crtx_store::fee_payers::{FeePayer, FeePayerState};
use parking_lot::Mutex;
use solana_pubkey::Pubkey;

use crate::config::Limits;

/// Two of an opening (gateway, session key), and two of a settlement (gateway, and the creator in the precompile).
const SIGNATURES_PER_CALL: u64 = 4;
const LAMPORTS_PER_SIGNATURE: u64 = 5_000;
/// Compute units of an opening and a settlement.
const UNITS_PER_CALL: u64 = 140_512;
const RETRY_AFTER: Duration = Duration::from_secs(30);

pub(crate) struct FeePayerWatch {
    low_calls: u64,
    reserve_lamports: u64,
    /// The highest that is offered, in millionths of a lamport.
    unit_price: u64,
    /// Rent of the record of one call while it is open; part of it returns when it ends. 0 until the node was asked.
    record_rent: AtomicU64,
    last: Mutex<Option<FeePayerState>>,
}

impl FeePayerWatch {
    pub fn new(limits: &Limits) -> Self {
        Self {
            low_calls: limits.fee_low_calls,
            reserve_lamports: limits.fee_reserve_lamports,
            unit_price: limits.highest_unit_price(),
            record_rent: AtomicU64::new(0),
            last: Mutex::default(),
        }
    }

    /// Returns 503 `unavailable` unless `lamports` pay for another call and for the end of the open ones.
    pub fn allow(&self, lamports: u64) -> Result<(), ApiError> {
        if self.judge(lamports).0 == FeePayerState::Empty { Err(empty()) } else { Ok(()) }
    }

    /// The state of this balance, and the number of calls that it pays for.
    fn judge(&self, lamports: u64) -> (FeePayerState, u64) {
        let calls = lamports.saturating_sub(self.reserve_lamports).checked_div(self.lamports_per_call()).unwrap_or(0);
        let state = match calls {
            0 => FeePayerState::Empty,
            calls if calls < self.low_calls => FeePayerState::Low,
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

    /// Stores rent and balance, and logs a change of state.
    pub fn note(&self, address: Pubkey, lamports: u64, record_rent: u64, compute_unit_price: u64) -> FeePayer {
        self.record_rent.store(record_rent, Ordering::Relaxed);
        let (state, calls_left) = self.judge(lamports);
        let payer = FeePayer { address, lamports, state, calls_left, compute_unit_price, treasury_problem: None };
        let before = self.last.lock().replace(state);
        match state {
            _ if before == Some(state) => {}
            FeePayerState::Ok => tracing::info!(%address, lamports, calls_left, "the fee payer has SOL"),
            FeePayerState::Low => tracing::warn!(%address, lamports, calls_left, "the fee payer runs out of SOL"),
            FeePayerState::Empty => {
                tracing::error!(%address, lamports, "the fee payer needs SOL; new calls are refused");
            }
        }
        payer
    }
}

/// The answer if the gateway cannot pay the fee and rent of a call.
pub(crate) fn empty() -> ApiError {
    let message = "the gateway's fee payer needs SOL; nothing was charged, try again later";
    ApiError::new(ErrorCode::Unavailable, message).with_retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> FeePayerWatch {
        let limits = Limits {
            fee_low_calls: 10,
            fee_reserve_lamports: 1_000_000,
            max_compute_unit_price: 0,
            ..Limits::default()
        };
        let watch = FeePayerWatch::new(&limits);
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
    fn the_last_accepted_call_leaves_the_reserve_for_open_calls() {
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
