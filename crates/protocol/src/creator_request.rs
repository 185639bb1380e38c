//! The request to a creator's service ("Request to the creator" in `docs/specification.md`).

use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Value of `accept` in the request.
pub const ACCEPT: &str = "application/json";
/// Value of `accept-encoding`: compressed answers are refused, because a small answer could expand to a large one.
pub const ACCEPT_ENCODING: &str = "identity";

/// The body.
#[derive(Clone, Debug, Serialize)]
pub struct CreatorRequest<'a> {
    pub execution_id: Uuid,
    pub task: &'a str,
    pub parameters: &'a Map<String, Value>,
    /// Base58 address of the caller's wallet.
    pub user_pubkey: String,
    pub timeout_seconds: u32,
    /// Base58 address of the on-chain record: what a call-bound signature names.
    pub execution_record: String,
    /// The second in which the record was opened, by the chain's clock. A call-bound signature names it, too.
    pub opened_at_unix_s: i64,
}
