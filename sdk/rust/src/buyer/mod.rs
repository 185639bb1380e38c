//! The buyer's side.

mod client;
mod error;
mod http;
mod sign_in;
mod types;
mod wallet;

pub use client::{Agents, Client, ClientOptions};
pub use error::{ApiError, Error, ErrorCode, Problem};
pub use sign_in::{check_sign_in, is_on_this_machine};
pub use types::*;
