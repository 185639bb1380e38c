//! Past transactions about an address: which there were, and what one of them called.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{error::ChainError, rpc::ChainClient};

/// Most transactions in one answer.
pub const MAX_MENTIONS_PER_READ: usize = 200;
/// Largest answers, in bytes: that many lines with a memo each, and one transaction with its logs.
const MENTIONS_ANSWER: usize = 512 * 1024;
const TRANSACTION_ANSWER: usize = 256 * 1024;

/// A transaction that names an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Base58.
    pub signature: String,
    pub failed: bool,
    /// Estimated time of its block, in seconds since 1970.
    pub block_time: Option<i64>,
}

/// An instruction of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledInstruction {
    pub program_id: Pubkey,
    /// Without those that stand in an address lookup table.
    pub accounts: Vec<Pubkey>,
    pub data: Vec<u8>,
    /// What a top-level instruction called, in order, as far as it is read.
    pub called: Vec<Self>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMention {
    signature: String,
    err: Option<Value>,
    block_time: Option<i64>,
}

#[derive(Deserialize)]
struct WireTransaction {
    transaction: (String, String),
}

impl ChainClient {
    /// The newest transactions that name the address, newest first, at most [`MAX_MENTIONS_PER_READ`]. `before`: older
    /// than this signature.
    pub async fn mentions(&self, address: &Pubkey, before: Option<&str>) -> Result<Vec<Mention>, ChainError> {
        let config = json!({"commitment": "confirmed", "limit": MAX_MENTIONS_PER_READ, "before": before});
        let params = json!([address.to_string(), config]);
        let found: Vec<WireMention> = self.read("getSignaturesForAddress", &params, MENTIONS_ANSWER).await?;
        let mention = |found: WireMention| Mention {
            signature: found.signature,
            failed: found.err.is_some(),
            block_time: found.block_time,
        };
        Ok(found.into_iter().take(MAX_MENTIONS_PER_READ).map(mention).collect())
    }

    /// The top-level instructions of a transaction. `None` if the node does not have it.
    pub async fn instructions_of(&self, signature: &str) -> Result<Option<Vec<CalledInstruction>>, ChainError> {
        let config = json!({"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 0});
        let params = json!([signature, config]);
        let found: Option<WireTransaction> = self.read("getTransaction", &params, TRANSACTION_ANSWER).await?;
        found.map(|found| called(&found.transaction.0).ok_or(ChainError::Malformed("a transaction"))).transpose()
    }
}

fn called(base64: &str) -> Option<Vec<CalledInstruction>> {
    let transaction: VersionedTransaction = wincode::deserialize(&BASE64.decode(base64).ok()?).ok()?;
    let keys = transaction.message.static_account_keys();
    let key = |index: &u8| keys.get(usize::from(*index)).copied();
    let instructions = transaction.message.instructions().iter().map(|instruction| {
        Some(CalledInstruction {
            program_id: key(&instruction.program_id_index)?,
            accounts: instruction.accounts.iter().filter_map(key).collect(),
            data: instruction.data.clone(),
            called: Vec::new(),
        })
    });
    instructions.collect()
}
