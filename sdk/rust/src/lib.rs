//! Sells what an async function does on crtx ("Creator service protocol" in `docs/specification.md`).
//!
//! [`Seller`] is a tower service: mount it in axum, or serve it with hyper. It checks each request, runs the function at
//! most once for each call ([`ReplayGuard`]), within the call's time-out, and answers with hash and signatures. No task and
//! no result is logged.
#![forbid(unsafe_code)]

mod counts;
mod guard;
pub mod key;
mod run;
mod seller;

pub use ed25519_dalek::{Signature, Signer, SigningKey};
pub use guard::{Begun, CallKey, GuardError, MemoryGuard, ReplayGuard};
pub use seller::{Seller, SellerOptions, Task, Work};
