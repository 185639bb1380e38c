//! Accounts of the program, one file each: seeds, layout, size and what must always hold.
//!
//! All are fixed-size and read in place (`zero_copy`): little-endian, no padding, every field at its
//! natural alignment after the 8-byte discriminator. Amounts are USDC base units (10^-6), times are
//! `Clock::unix_timestamp` seconds. `revision` grows by one on every change of the account and gives
//! readers a total order, also across the closing and renewed opening of an address: see
//! [`first_revision`].

mod agent_listing;
mod config;
mod creator_profile;
mod dispute;
mod execution_record;
mod spending_grant;

pub use agent_listing::*;
pub use config::*;
pub use creator_profile::*;
pub use dispute::*;
pub use execution_record::*;
pub use spending_grant::*;

/// Layout version that this program writes into every account.
pub const LAYOUT_VERSION: u8 = 1;

/// Length of the discriminator in front of every account.
pub const DISCRIMINATOR_LEN: usize = 8;

/// Revisions that one account can go through within a second before [`first_revision`] repeats itself.
const REVISIONS_PER_SECOND: u64 = 1 << 20;

/// The revision an account is born with. It grows with time, so an account that is closed and opened
/// again at the same address continues above every revision a reader may have kept of the first one.
/// `None` before 1970 and after the year 550 000.
pub fn first_revision(now_unix_s: i64) -> Option<u64> {
    u64::try_from(now_unix_s).ok()?.checked_mul(REVISIONS_PER_SECOND)
}

/// The first claim that does not hold.
fn all(claims: &[(bool, &'static str)]) -> core::result::Result<(), &'static str> {
    claims.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, claim)| Err(claim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reopened_account_continues_above_its_earlier_life() {
        let born = first_revision(1_760_000_000).expect("in range");
        let reborn = first_revision(1_760_000_001).expect("in range");
        assert!(reborn > born + 1_000_000);
        assert!(i64::try_from(reborn).is_ok(), "fits the mirror's signed column");
    }
}
