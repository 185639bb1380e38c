//! What every part of crtx agrees on, in one place: how money is split, what is hashed and signed,
//! how things are named and where they live on chain. Nothing here does I/O.
//!
//! Without the feature `host` the crate is `no_std`, has no dependency, and consists of the folder `onchain`:
//! [`fee`], [`seeds`], [`result_text`], [`call_text`], [`failure_text`], [`terms`], [`plain_text`]. That half is what the on-chain program uses.
#![cfg_attr(not(feature = "host"), no_std)]
#![forbid(unsafe_code)]

#[cfg(feature = "host")]
mod host;
mod onchain;

#[cfg(feature = "host")]
pub use host::{mirror_digest, signed_answer, webhook};
pub use onchain::{call_text, failure_text, fee, plain_text, result_text, seeds, terms};

#[cfg(feature = "host")]
pub mod address;
#[cfg(feature = "host")]
pub mod api_key;
#[cfg(feature = "host")]
pub mod cluster;
#[cfg(feature = "host")]
pub mod content;
#[cfg(feature = "host")]
pub mod creator_answer;
#[cfg(feature = "host")]
pub mod creator_request;
#[cfg(feature = "host")]
pub mod execution_id;
#[cfg(feature = "host")]
pub mod key_proof;
#[cfg(feature = "host")]
pub mod metadata;
#[cfg(feature = "host")]
pub mod request_hash;
#[cfg(feature = "host")]
pub mod result_hash;
#[cfg(feature = "host")]
pub mod sign_in;
#[cfg(feature = "host")]
pub mod signature;
#[cfg(feature = "host")]
pub mod strict_json;
#[cfg(feature = "host")]
pub mod text;
#[cfg(feature = "host")]
pub mod transaction;
#[cfg(feature = "host")]
pub mod usdc;
