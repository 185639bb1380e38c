//! What the rows of the gateway hold, as Rust types.

use chrono::{DateTime, Utc};
use crtx_protocol::usdc::UsdcBase;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use solana_pubkey::Pubkey;
use uuid::Uuid;

/// How far an execution has come. `docs/specification.md`, "Execution states in the gateway".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray, sqlx::Type)]
#[strum(const_into_str, serialize_all = "snake_case")]
#[sqlx(rename_all = "snake_case")]
pub enum State {
    /// Accepted; nothing signed yet.
    Reserved,
    /// The opening transaction is stored and may have been sent.
    Opening,
    /// Escrow confirmed.
    Pending,
    /// Sent to the creator, possibly more than once. The creator recognizes a repetition by the execution id.
    Running,
    /// A checked result is stored.
    ResultStored,
    /// A settling transaction is stored and may have been sent.
    Settling,
    Completed,
    /// The caller gets the whole price back; the reason is stored.
    Refunding,
    /// Refunded, or never opened.
    Failed,
}

impl State {
    /// Nothing is sent to the creator yet.
    pub const BEFORE_DISPATCH: [Self; 2] = [Self::Reserved, Self::Opening];
    /// The creator works on it, for as long as its timeout allows.
    pub const DISPATCH: [Self; 2] = [Self::Pending, Self::Running];
    /// A result waits for its settlement.
    pub const SETTLEMENT: [Self; 2] = [Self::ResultStored, Self::Settling];
    /// An escrow waits for its refund.
    pub const REFUND: [Self; 1] = [Self::Refunding];

    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// What the caller asked the agent to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    pub task: String,
    pub parameters: Map<String, Value>,
}

/// A call as it was accepted: caller, request and terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Address of the on-chain record.
    pub record: Pubkey,
    pub execution_id: Uuid,
    pub caller: Pubkey,
    pub agent: Pubkey,
    /// `None`: the wallet opened the escrow itself and handed the execution over.
    pub session_key: Option<Pubkey>,
    pub idempotency_key: Option<String>,
    /// The idempotency key is bound to this hash.
    pub body_hash: [u8; 32],
    pub is_async: bool,
    pub request: CallRequest,
    pub request_hash: [u8; 32],
    pub amount: UsdcBase,
    pub timeout_seconds: u32,
    pub endpoint: String,
}

/// A result that passed every check.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    pub result: String,
    pub hash: [u8; 32],
    /// Over the text form of the hash.
    pub signature: [u8; 64],
    /// Over the text of the call. `None` unless the execution demands it; then it is what settles.
    pub call_signature: Option<[u8; 64]>,
    pub tokens_used: Option<u64>,
    pub execution_time_ms: u64,
    pub steps: Option<Value>,
}

/// What was paid according to the on-chain record, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charged {
    pub amount: UsdcBase,
    pub creator_amount: UsdcBase,
    pub platform_amount: UsdcBase,
}

/// What a settlement reports about the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    pub tokens_used: Option<u64>,
    pub execution_time_ms: u64,
}

/// What the chain shows of a result that somebody else settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledElsewhere {
    pub charged: Charged,
    pub result_hash: [u8; 32],
    pub reported: Reported,
}

/// Where the money of a failed execution is, if its escrow was opened. The answer ends with it.
pub const REFUNDED: &str = "the escrow was refunded";

/// Why an execution failed: the answer to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The program's number of the reason; none if nothing was opened.
    pub reason: Option<u8>,
    /// Of the agent, over the text of the failure: with it the failure counts against the agent.
    pub signature: Option<[u8; 64]>,
    pub status: u16,
    pub code: String,
    /// The problem alone. Where the money is depends on the state, and is added by the answer.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredExecution {
    pub call: Call,
    pub state: State,
    pub delivered: Option<Delivered>,
    pub failure: Option<Failure>,
    /// Read from the on-chain record; none before the record is read.
    pub charged: Option<Charged>,
    /// Completed with a result that this gateway does not have.
    pub settled_elsewhere: bool,
    /// Known even if the result is not.
    pub result_hash: Option<[u8; 32]>,
    /// `None` before there is a result.
    pub reported: Option<Reported>,
    pub created_at: DateTime<Utc>,
    /// When the escrow was confirmed. None: nothing was ever paid.
    pub opened_at: Option<DateTime<Utc>>,
    pub dispatched_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
}

/// The right to work on one execution, until it expires or is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub record: Pubkey,
    pub(crate) token: Uuid,
}
