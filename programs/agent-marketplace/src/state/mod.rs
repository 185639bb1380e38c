//! Accounts of the program, one file each: seeds, layout, size, the rules for their fields (`check_…`) and
//! `invariant()`, which applies those rules to a stored account.
//!
//! All are fixed-size and read in place (`zero_copy`): little-endian, no padding, every field at its
//! natural alignment after the 8-byte discriminator. Amounts are USDC base units (10^-6), times are
//! `Clock::unix_timestamp` seconds. `revision` grows by one with every change of the account and gives
//! readers a total order, also if an address is closed and created again: see [`first_revision`].

mod agent_listed;
mod config;
mod creator_profile;
mod dispute;
mod execution_record;
mod invariant;
mod layout;
mod name;
mod spending_grant;
mod text;

pub use agent_listed::*;
pub use config::*;
pub use creator_profile::*;
pub use dispute::*;
pub use execution_record::*;
pub use invariant::Violation;
pub use layout::*;
pub use spending_grant::*;
