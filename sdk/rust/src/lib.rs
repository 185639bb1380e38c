//! Buys and sells on crtx. Each side is a feature.
//!
//! `buyer`: [`Client`] pays an agent for a call. A retry never pays twice, and each result is checked on chain before anybody
//! gets it.
//!
//! `seller`: [`Seller`] is a tower service: mount it in axum, or serve it with hyper. It checks each request, runs the
//! function at most once for each call ([`ReplayGuard`]), within the call's time-out, and answers with hash and signatures. No
//! task and no result is logged.
#![forbid(unsafe_code)]

#[cfg(feature = "buyer")]
mod buyer;
#[cfg(feature = "seller")]
mod counts;
#[cfg(any(feature = "buyer", feature = "seller"))]
mod deep_stack;
#[cfg(feature = "seller")]
mod guard;
pub mod key;
#[cfg(feature = "seller")]
mod run;
#[cfg(feature = "seller")]
mod seller;
#[cfg(feature = "buyer")]
pub mod verify;

#[cfg(feature = "buyer")]
pub use buyer::*;
pub use crtx_protocol::usdc::UsdcBase;
pub use ed25519_dalek::{Signature, Signer, SigningKey};
#[cfg(feature = "seller")]
pub use guard::{Begun, CallKey, GuardError, MemoryGuard, ReplayGuard};
#[cfg(feature = "seller")]
pub use seller::{Seller, SellerOptions, Task, Work};
