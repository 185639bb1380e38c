//! How the price of a call is divided between the creator and the marketplace.

/// Basis points in a whole.
pub const BPS_DENOMINATOR: u64 = 10_000;

/// The marketplace fee of the specification: 1 %.
pub const DEFAULT_FEE_BPS: u32 = 100;

/// The two parts of one payment, in USDC base units (10^-6 USDC). They always add up to the amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    pub creator: u64,
    pub platform: u64,
}

/// Splits `amount` (USDC base units): the platform gets `amount × fee_bps / 10 000` rounded down, the
/// creator the rest. `None` if `fee_bps` is more than a whole.
pub const fn split(amount: u64, fee_bps: u32) -> Option<Split> {
    let bps = fee_bps as u64;
    if bps > BPS_DENOMINATOR {
        return None;
    }
    // `amount × bps` may not fit 64 bits and the chain has no 128-bit arithmetic, so the whole
    // units and the remainder are multiplied apart. Neither product can overflow: the first is at most
    // `amount`, the second below 10 000².
    let whole = amount / BPS_DENOMINATOR;
    let rest = amount % BPS_DENOMINATOR;
    let platform = match (whole.checked_mul(bps), rest.checked_mul(bps)) {
        (Some(whole), Some(rest)) => match whole.checked_add(rest / BPS_DENOMINATOR) {
            Some(platform) => platform,
            None => return None,
        },
        _ => return None,
    };
    match amount.checked_sub(platform) {
        Some(creator) => Some(Split { creator, platform }),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_percent_of_ten_cents_is_a_tenth_of_a_cent() {
        assert_eq!(split(100_000, 100), Some(Split { creator: 99_000, platform: 1_000 }));
    }

    #[test]
    fn a_fee_below_one_base_unit_goes_to_the_creator() {
        assert_eq!(split(99, 100), Some(Split { creator: 99, platform: 0 }));
    }

    #[test]
    fn a_fee_above_the_whole_is_refused() {
        assert_eq!(split(1, 10_001), None);
    }

    proptest! {
        #[test]
        #[expect(clippy::arithmetic_side_effects, reason = "128 bits hold every product")]
        fn the_parts_are_exact_for_every_amount_and_fee(amount: u64, bps in 0u32..=10_000) {
            let parts = split(amount, bps).expect("a fee of at most a whole splits");
            let exact = u64::try_from(u128::from(amount) * u128::from(bps) / 10_000).expect("fits");
            prop_assert_eq!(parts.platform, exact);
            prop_assert_eq!(parts.creator.checked_add(parts.platform), Some(amount));
        }
    }
}
