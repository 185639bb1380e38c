//! Accounts of the program, one file each: seeds, layout, size and what must always hold.
//!
//! All are fixed-size and read in place (`zero_copy`): little-endian, no padding, every field at its
//! natural alignment after the 8-byte discriminator. Amounts are USDC base units (10^-6), times are
//! `Clock::unix_timestamp` seconds. `revision` grows by one on every change of the account and gives
//! readers a total order.

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
