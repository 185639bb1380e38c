//! The gateway takes a paid call, opens its escrow with the caller's session key and sends it to the creator. It
//! accepts only a result whose signature verifies, and settles or refunds the call on chain.
//!
//! [`api::router`] answers requests. [`run`] resumes abandoned executions. Both work on leased rows of one database,
//! so any number of gateways can share it.
#![forbid(unsafe_code)]

mod admission;
mod agent_tests;
mod agents;
pub mod api;
pub mod config;
mod creator;
mod engine;
mod error;
mod examinations;
mod figures;
mod gateway;
mod held_content;
mod housekeeping;
mod keys;
mod presence;
mod request;
mod sign_in;
mod terms;
mod wallet_opening;
mod webhooks;
mod worker;

pub use config::{GatewayConfig, Limits};
pub use crtx_protocol::creator_answer::MAX_RESULT_BYTES;
pub use error::GatewayError;
pub use figures::CallFigures;
pub use gateway::Gateway;
pub use keys::GatewayKeys;
pub use worker::{Recovery, run};
