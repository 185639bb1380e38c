//! Checks that a new call must pass before any money moves: how much this process works on ([`gate`]), the SOL
//! balance that pays for it ([`fee_payer`]), and, in one SQL statement, the wallet's money and the limits of key,
//! wallet and agent. [`refused`] slows down callers that repeat refused calls.
//! [`turns`] limits how much of other work, such as long requests that arrive, one wallet or client has under way.

pub(crate) mod fee_payer;
pub(crate) mod gate;
pub(crate) mod permits;
pub(crate) mod refused;
pub(crate) mod turns;

use std::time::{Duration, Instant};

use crtx_http::{ApiError, ErrorCode, QuotaUnit, RateLimit};
use crtx_protocol::usdc::UsdcBase;
use crtx_store::admission::{Bounds, CallLimits, Funds, ReadAt, Refusal, Shortage, Subject};

use crate::terms::{CallTerms, Spendable};

/// Pauses between two reads of the chain while other calls of the wallet are being opened.
const FIRST_PAUSE: Duration = Duration::from_millis(30);
const LONGEST_PAUSE: Duration = Duration::from_millis(480);
/// Proposed wait until a call in progress has probably ended.
const UNDER_WAY_RETRY: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// The bounds that a call with these terms is checked against.
pub(crate) fn bounds(terms: &CallTerms, read_at: ReadAt, limits: CallLimits) -> Bounds {
    let Spendable { holding, approved, grant_left } = terms.funds;
    Bounds { funds: Funds { wallet: holding.min(approved), key: grant_left, read_at }, limits }
}

/// The pauses of a call that lacks only money that other calls have reserved. The first one is zero, because for a moment
/// money that was taken is missing on chain and still reserved.
pub(crate) struct Patience {
    until: Instant,
    pause: Option<Duration>,
}

impl Patience {
    pub fn new(patience: Duration) -> Self {
        let now = Instant::now();
        Self { until: now.checked_add(patience).unwrap_or(now), pause: None }
    }

    /// Waits before the next attempt. Returns false if the patience is over.
    pub async fn another_attempt(&mut self) -> bool {
        let pause = self.pause.unwrap_or_default();
        if Instant::now().checked_add(pause).is_none_or(|then| then > self.until) {
            return false;
        }
        tokio::time::sleep(pause).await;
        self.pause = Some(pause.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE));
        true
    }
}

/// The wallet or the key has the money, but other calls have reserved it.
pub(crate) fn short(terms: &CallTerms, shortage: &Shortage) -> ApiError {
    let (price, reserved) = (terms.price, shortage.reserved);
    let Spendable { holding, approved, grant_left } = terms.funds;
    match shortage.of {
        Subject::Key => ApiError::new(
            ErrorCode::Forbidden,
            format!(
                "the call costs {price} USDC; the key may spend {grant_left} USDC more in all, of which its calls \
                 under way take {reserved} USDC"
            ),
        ),
        Subject::Wallet | Subject::Agent => insufficient(holding, approved, reserved, price),
    }
}

pub(crate) fn insufficient(holding: UsdcBase, approved: UsdcBase, reserved: UsdcBase, price: UsdcBase) -> ApiError {
    let of_it =
        if approved < holding { format!(" and lets its API keys move {approved} USDC of it") } else { String::new() };
    ApiError::new(
        ErrorCode::InsufficientBalance,
        format!(
            "the wallet holds {holding} USDC{of_it}; calls under way take {reserved} USDC, and {price} USDC is required"
        ),
    )
}

/// The error for a limit of key, wallet or agent.
pub(crate) fn over_limit(limits: &CallLimits, refusal: &Refusal) -> ApiError {
    let (subject, quota, unit, retry_after) = match *refusal {
        Refusal::TooManyUnderWay(subject) => {
            (subject, limits.under_way.of(subject), QuotaUnit::Concurrent, UNDER_WAY_RETRY)
        }
        Refusal::TooManyFailures { of, retry_after } => {
            (of, limits.failures_per_hour.of(of), QuotaUnit::Within(HOUR), retry_after)
        }
        // Callers use this function only for refusals that are not about money.
        Refusal::Short(_) => return ApiError::new(ErrorCode::InsufficientBalance, "the wallet's money is reserved"),
    };
    let (policy, whose) = match (unit, subject) {
        (QuotaUnit::Concurrent, Subject::Key) => ("calls-under-way-per-key", "this key"),
        (QuotaUnit::Concurrent, Subject::Wallet) => ("calls-under-way-per-wallet", "this wallet"),
        (QuotaUnit::Concurrent, Subject::Agent) => ("calls-under-way-per-agent", "this agent"),
        (QuotaUnit::Within(_), Subject::Key) => ("failures-per-key", "this key"),
        (QuotaUnit::Within(_), Subject::Wallet) => ("failures-per-wallet", "this wallet"),
        (QuotaUnit::Within(_), Subject::Agent) => ("failures-per-agent", "this agent"),
    };
    let message = match unit {
        QuotaUnit::Concurrent => format!("{whose} has {quota} calls under way, and no more are accepted at a time"),
        QuotaUnit::Within(_) => {
            format!("{quota} calls of {whose} failed within the last hour, and no more are accepted")
        }
    };
    ApiError::rate_limited(message, RateLimit { policy, quota, unit }, retry_after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_holding_approval_what_is_reserved_and_what_is_required() {
        let error = insufficient(UsdcBase(500_000), UsdcBase(u64::MAX), UsdcBase(480_000), UsdcBase(50_000));
        let expected = "the wallet holds 0.5 USDC; calls under way take 0.48 USDC, and 0.05 USDC is required";
        assert_eq!((error.code, &*error.message), (ErrorCode::InsufficientBalance, expected));
        let error = insufficient(UsdcBase(500_000), UsdcBase(100_000), UsdcBase(80_000), UsdcBase(50_000));
        assert!(error.message.contains("lets its API keys move 0.1 USDC of it"), "{}", error.message);
    }

    #[tokio::test]
    async fn the_first_pause_is_zero_and_later_ones_grow_until_the_patience_ends() {
        let mut patience = Patience::new(Duration::from_secs(60));
        assert!(patience.another_attempt().await);
        assert_eq!(patience.pause, Some(FIRST_PAUSE));
        for _ in 0..3 {
            assert!(patience.another_attempt().await);
        }
        assert_eq!(patience.pause, Some(FIRST_PAUSE * 8));
        patience.pause = Some(Duration::from_secs(61));
        assert!(!patience.another_attempt().await, "an attempt that would end too late is not made");
    }
}
