//! The first seed of every program-derived address. All seeds of an account are listed in its file in
//! the program; [`crate::address`] derives the addresses off chain.

pub const CONFIG: &[u8] = b"config";
/// `creator`, wallet.
pub const CREATOR: &[u8] = b"creator";
/// `agent`, creator wallet, index (u32, little endian).
pub const AGENT: &[u8] = b"agent";
/// `escrow`, agent: token account with the USDC of all open executions of that agent.
pub const ESCROW: &[u8] = b"escrow";
/// `collateral`, agent: token account with the creator's locked collateral.
pub const COLLATERAL: &[u8] = b"collateral";
/// `execution`, caller wallet, execution id (16 bytes).
pub const EXECUTION: &[u8] = b"execution";
/// `dispute`, execution record.
pub const DISPUTE: &[u8] = b"dispute";
/// `grant`, wallet, session public key.
pub const GRANT: &[u8] = b"grant";
/// `spender`, wallet: the SPL delegate that a wallet approves once for all of its keys.
pub const SPENDER: &[u8] = b"spender";
