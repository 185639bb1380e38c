//! What several instructions share. No file here is an instruction.

pub mod collateral;
pub mod dispute;
pub mod escrow;
pub mod opening;
pub mod profile;
pub mod text_argument;
pub mod vault;
