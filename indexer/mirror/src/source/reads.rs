//! Small reads of one node: accounts, slots, the genesis hash, and the program's transactions.

use crtx_chain::{AtSlot, FetchedAccount};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use super::{
    At, MAX_TRANSACTIONS, ProgramTransaction,
    error::SourceError,
    http::{HttpNode, METHOD_NOT_FOUND, Question, SMALL_ANSWER},
};

/// Largest answers, in bytes: accounts of a read, and a page of transactions with a memo each.
const ACCOUNTS_ANSWER: usize = 32 * 1024 * 1024;
const TRANSACTIONS_ANSWER: usize = 2 * 1024 * 1024;
/// One transaction, its logs and balances.
const TRANSACTION_ANSWER: usize = 1024 * 1024;
/// Transactions in one answer: the most that a node sends.
const TRANSACTIONS_PER_PAGE: usize = 1_000;
/// JSON-RPC error of a node that keeps no history of transactions.
const NO_HISTORY: i64 = -32_011;

#[derive(Deserialize)]
struct WireTransaction {
    signature: String,
    slot: u64,
    err: Option<Value>,
}

/// The name of a commitment in JSON-RPC.
pub(super) const fn commitment(at: At) -> &'static str {
    match at {
        At::Confirmed => "confirmed",
        At::Finalized => "finalized",
    }
}

/// Accounts at one slot, in the order asked for.
pub(super) async fn accounts(
    node: &HttpNode,
    addresses: &[Pubkey],
    at: At,
    min_slot: u64,
) -> Result<AtSlot<Vec<Option<FetchedAccount>>>, SourceError> {
    let addresses_text: Vec<String> = addresses.iter().map(Pubkey::to_string).collect();
    let config = json!({"encoding": "base64", "commitment": commitment(at), "minContextSlot": named(min_slot)});
    let method = "getMultipleAccounts";
    let question = Question { method, params: json!([addresses_text, config]), min_slot };
    let answer: AtSlot<Vec<Option<FetchedAccount>>> = node.ask(&question, ACCOUNTS_ANSWER).await?;
    node.check_slot(answer.slot, min_slot)?;
    if answer.value.len() != addresses.len() {
        return Err(SourceError::Malformed { node: node.name.clone(), what: method });
    }
    Ok(answer)
}

/// The newest slot.
pub(super) async fn slot(node: &HttpNode, at: At) -> Result<u64, SourceError> {
    let params = json!([{"commitment": commitment(at)}]);
    node.ask(&Question { method: "getSlot", params, min_slot: 0 }, SMALL_ANSWER).await
}

/// Identifies the chain.
pub(super) async fn genesis_hash(node: &HttpNode) -> Result<String, SourceError> {
    node.ask(&Question { method: "getGenesisHash", params: json!([]), min_slot: 0 }, SMALL_ANSWER).await
}

/// Whether a blockhash is one of the newest.
pub(super) async fn knows_blockhash(node: &HttpNode, blockhash: &str) -> Result<bool, SourceError> {
    let params = json!([blockhash, {"commitment": "confirmed"}]);
    let question = Question { method: "isBlockhashValid", params, min_slot: 0 };
    Ok(node.ask::<AtSlot<bool>>(&question, SMALL_ANSWER).await?.value)
}

/// Transactions that name the program, newest first, up to `after` or [`MAX_TRANSACTIONS`].
pub(super) async fn transactions_after(
    node: &HttpNode,
    program: &Pubkey,
    after: Option<Signature>,
    min_slot: u64,
) -> Result<Option<Vec<ProgramTransaction>>, SourceError> {
    // The answer does not say its slot, so the node says first which it has reached.
    if min_slot > 0 {
        node.check_slot(slot(node, At::Confirmed).await?, min_slot)?;
    }
    let mut all: Vec<ProgramTransaction> = Vec::new();
    while all.len() < MAX_TRANSACTIONS {
        let config = json!({
            "commitment": "confirmed",
            "limit": TRANSACTIONS_PER_PAGE,
            "until": after.map(|signature| signature.to_string()),
            "before": all.last().map(|transaction| transaction.signature.to_string()),
            "minContextSlot": named(min_slot),
        });
        let question =
            Question { method: "getSignaturesForAddress", params: json!([program.to_string(), config]), min_slot };
        let page: Vec<WireTransaction> = match node.ask(&question, TRANSACTIONS_ANSWER).await {
            Err(SourceError::Refused { code: METHOD_NOT_FOUND | NO_HISTORY, .. }) => return Ok(None),
            page => page?,
        };
        let last = page.len() < TRANSACTIONS_PER_PAGE;
        for WireTransaction { signature, slot, err } in page.into_iter().take(TRANSACTIONS_PER_PAGE) {
            let malformed = |_| SourceError::Malformed { node: node.name.clone(), what: question.method };
            let signature = signature.parse().map_err(malformed)?;
            all.push(ProgramTransaction { signature, slot, failed: err.is_some() });
        }
        if last {
            break;
        }
    }
    Ok(Some(all))
}

/// The accounts that a transaction may have written. `None`: the node does not have it, or keeps no history.
pub(super) async fn written_by(node: &HttpNode, signature: &Signature) -> Result<Option<Vec<Pubkey>>, SourceError> {
    let config = json!({"encoding": "base64", "commitment": "confirmed", "maxSupportedTransactionVersion": 1});
    let method = "getTransaction";
    let question = Question { method, params: json!([signature.to_string(), config]), min_slot: 0 };
    let answer: Option<Value> = match node.ask(&question, TRANSACTION_ANSWER).await {
        Err(SourceError::Refused { .. }) => return Ok(None),
        answer => answer?,
    };
    Ok(answer.and_then(|answer| crtx_chain::past::written_accounts(&answer)))
}

/// The slot that a node must have reached, if it must.
pub(super) fn named(min_slot: u64) -> Option<u64> {
    (min_slot > 0).then_some(min_slot)
}
