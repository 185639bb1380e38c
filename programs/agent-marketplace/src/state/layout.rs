//! What all accounts have in common: discriminator, layout version and the revisions they start with.

/// Layout version that this program writes into every account.
pub const LAYOUT_VERSION: u8 = 1;

/// An account that says which layout it has.
pub trait Versioned {
    fn version(&self) -> u8;
}

/// Length of the discriminator in front of every account.
pub const DISCRIMINATOR_LEN: usize = 8;

/// Revisions that one account can have within a second before [`first_revision`] repeats one of them.
const REVISIONS_PER_SECOND: u64 = 1 << 20;

/// The revision of a new account. It grows with time, so an account that is closed and created again at the
/// same address continues above every revision that a reader may have kept of the first one.
/// `None` before 1970 and after the year 550 000.
pub fn first_revision(now_unix_s: i64) -> Option<u64> {
    u64::try_from(now_unix_s).ok()?.checked_mul(REVISIONS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_that_is_created_again_continues_above_its_earlier_revisions() {
        let first = first_revision(1_760_000_000).expect("in range");
        let second = first_revision(1_760_000_001).expect("in range");
        assert!(second > first + 1_000_000);
        assert!(i64::try_from(second).is_ok(), "fits the mirror's signed column");
    }
}
