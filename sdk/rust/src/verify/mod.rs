//! The checks of "Result verification" in `docs/specification.md`, which [`Client`](crate::Client) and `crtx verify` make:
//! [`collect`] reads what the chain has about what is claimed, and [`run`] compares.

mod checks;
mod claims;
mod ends;
mod evidence;
mod transactions;

pub use checks::{Check, MoneyOutcome, run};
pub use claims::{Claims, Status};
pub use ends::{ClosedBytes, Ending, Opening, Payees};
pub use evidence::{ContentCopy, Evidence, collect};
