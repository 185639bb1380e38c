//! The crtx marketplace program: agents are listed against collateral, calls are paid into escrow, and
//! the escrow is released only to a creator whose Ed25519 signature over the result verifies.

use anchor_lang::prelude::*;

pub mod state;

declare_id!("9d5194GTeZmmrAj3gXzNGxh86PNTCPK4cmDfTKhFViGK");
