//! What the HTTP services share, so that every endpoint of either speaks alike: the error body of
//! specification 2.5, extractors that name what is wrong, authentication by API key, request ids, the
//! server with its limits, the frame of a service's process, and outbound requests that cannot be turned
//! against the service's own network.
//!
//! Routers of the services carry no fallback of their own; whoever serves them (one or several merged)
//! passes the result through [`layers::finish`] once.
#![forbid(unsafe_code)]

pub mod auth;
pub mod body;
pub mod docs;
pub mod error;
pub mod extract;
pub mod layers;
pub mod links;
pub mod offload;
pub mod outbound;
pub mod pace;
pub mod process;
pub mod query;
pub mod serve;

pub use auth::{AuthState, Caller};
pub use error::{ApiError, ErrorBody, ErrorCode, QuotaUnit, RateLimit};
pub use extract::{ApiJson, ApiPath, ApiQuery};
pub use layers::{Peer, RequestId, finish};
pub use links::Links;
pub use query::{FromQuery, QueryParams};
pub use serve::{ServeLimits, serve};
