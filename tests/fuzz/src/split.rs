//! How an amount is divided, against 128-bit arithmetic. Input: the amount and the fee, little-endian.

use crtx_protocol::fee::{Split, split};

pub fn run(data: &[u8]) {
    let Some((amount, rest)) = data.split_first_chunk::<8>() else { return };
    let Some(fee) = rest.first_chunk::<4>() else { return };
    let (amount, fee_bps) = (u64::from_le_bytes(*amount), u32::from_le_bytes(*fee));
    // Half of the inputs have a fee that splits.
    for fee_bps in [fee_bps, fee_bps % 10_001] {
        check(amount, fee_bps);
    }
}

/// Fails unless the parts are what the fee says.
pub fn check(amount: u64, fee_bps: u32) {
    let parts = split(amount, fee_bps);
    assert_eq!(parts.is_some(), fee_bps <= 10_000, "a fee of at most a whole splits");
    let Some(Split { creator, platform }) = parts else { return };
    assert_eq!(u128::from(creator) + u128::from(platform), u128::from(amount), "the parts are the whole");
    let exact = u128::from(amount) * u128::from(fee_bps);
    let taken = u128::from(platform) * 10_000;
    assert!(taken <= exact && exact < taken + 10_000, "{amount} at {fee_bps}: {platform} is not the fee rounded down");
    let before = amount.checked_sub(1).and_then(|less| split(less, fee_bps));
    assert!(before.is_none_or(|less| less.creator <= creator && less.platform <= platform), "more gives nobody less");
}
