//! What the HTTP services share, so that all endpoints behave alike: the error body ("Error body" in
//! `docs/specification.md`), extractors that name what is wrong, authentication by API key or session, request ids, the
//! server with its limits, and outbound requests that cannot reach the service's own network.
//!
//! Routers of the services have no fallback of their own. A process merges the routers that it serves and passes
//! the result through [`layers::finish`] once.
#![forbid(unsafe_code)]

pub mod allowance;
pub mod auth;
pub mod body;
pub mod caching;
pub mod credentials;
pub mod cursor;
pub mod docs;
pub mod error;
pub mod extract;
pub mod formats;
pub mod layers;
pub mod links;
pub mod log;
pub mod lookup;
pub mod offload;
pub mod other_network;
pub mod outbound;
pub mod query;
pub mod query_batcher;
pub mod reader;
pub mod serve;
pub mod session_token;
pub mod signed_in;
pub mod site;
pub mod strangers;
pub mod token_bucket;
pub mod whole;

pub use auth::{AuthState, Caller};
pub use error::{ApiError, ErrorBody, ErrorCode, QuotaUnit, RateLimit};
pub use extract::{ApiJson, ApiPath, ApiQuery};
pub use layers::{Peer, finish, finish_with, over_tls_alone};
pub use links::Links;
pub use lookup::Credentials;
pub use query::{FromQuery, QueryParams};
pub use reader::Reader;
pub use serve::{AddressRange, BodyOwner, ServeLimits, Stopping, TrustedProxies, serve};
pub use signed_in::SignedIn;
pub use site::Site;
pub use strangers::{CredentialName, Strangers};
pub use whole::{KeptBody, Whole};
