//! What `invariant()` of an account can find.

use anchor_lang::error::Error;

use crate::error::MarketplaceError;

/// What does not hold for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A rule that instructions apply to what callers ask for.
    Rule(MarketplaceError),
    /// Fields that contradict each other. No instruction writes such an account.
    Contradiction(&'static str),
}

impl From<MarketplaceError> for Violation {
    fn from(error: MarketplaceError) -> Self {
        Self::Rule(error)
    }
}

impl From<Violation> for Error {
    #[cold]
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::Rule(error) => error.into(),
            Violation::Contradiction(_) => MarketplaceError::OutOfRange.into(),
        }
    }
}

/// A claim about how an account's fields agree.
#[inline(always)]
pub(super) const fn claim(holds: bool, otherwise: &'static str) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::Contradiction(otherwise)) }
}
