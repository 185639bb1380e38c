//! What is tested: an endpoint and what its listing says about it.

use serde::Deserialize;
use serde_json::{Map, Value};
use solana_pubkey::Pubkey;

/// An endpoint, as its listing will describe it.
#[derive(Clone, Debug)]
pub struct TestedEndpoint {
    pub endpoint: String,
    pub result_key: Pubkey,
    /// The listing promises results that are signed for the call.
    pub binding: bool,
    pub input_schema: Value,
    pub output_schema: Value,
    pub timeout_seconds: u32,
    /// A request that the agent completes.
    pub example: Example,
    /// A request that the agent must answer with `failed`.
    pub failing: Option<Example>,
}

/// What a caller sends.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub task: String,
    #[serde(default)]
    pub parameters: Map<String, Value>,
}
