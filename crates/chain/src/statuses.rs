//! Statuses of transactions. If two nodes differ, the one that knows the transaction is right, because the other may
//! lag.

use serde_json::json;
use solana_signature::Signature;
use solana_transaction_status_client_types::TransactionStatus;
use tokio::time::Instant;

use crate::{
    error::ChainError,
    nodes::{Nodes, Whom},
    wire::AtSlot,
};

/// Maximum number of signatures in one `getSignatureStatuses`.
pub(crate) const MAX_SIGNATURES_PER_READ: usize = 256;

/// Enough for 256 statuses with an error each.
const ANSWER_LIMIT: usize = 1024 * 1024;

pub(crate) type Statuses = Vec<Option<TransactionStatus>>;

/// Asks the best node.
pub(crate) async fn of_one(nodes: &Nodes, signatures: &[Signature], deadline: Instant) -> Result<Statuses, ChainError> {
    let request = request(nodes, signatures, false);
    let complete = |answer: &AtSlot<Statuses>| complete(answer, signatures.len());
    Ok(nodes.ask(&request, deadline, complete).await?.value)
}

/// Asks several nodes and merges their answers. Returns an error only if none of them answered.
pub(crate) async fn of_several(
    nodes: &Nodes,
    signatures: &[Signature],
    history: bool,
    deadline: Instant,
) -> Result<Statuses, ChainError> {
    let mut merged: Option<Statuses> = None;
    let mut last_error = ChainError::TimedOut;
    for answer in of_each(nodes, signatures, history, deadline, Whom::Healthy).await {
        match (answer, &mut merged) {
            (Ok(answer), Some(merged)) => merge(merged, answer.value),
            (Ok(answer), None) => merged = Some(answer.value),
            (Err(error), _) => last_error = error,
        }
    }
    merged.ok_or(last_error)
}

/// The statuses from each node, with the slot that the node has reached.
pub(crate) async fn of_each(
    nodes: &Nodes,
    signatures: &[Signature],
    history: bool,
    deadline: Instant,
    whom: Whom,
) -> Vec<Result<AtSlot<Statuses>, ChainError>> {
    let request = request(nodes, signatures, history);
    let answers = nodes.ask_every::<AtSlot<Statuses>>(&request, deadline, whom).await;
    let checked = answers.into_iter().map(|answer| {
        let (_, answer) = answer?;
        complete(&answer, signatures.len()).map(|()| answer)
    });
    checked.collect()
}

fn request(nodes: &Nodes, signatures: &[Signature], history: bool) -> crate::node::RpcRequest {
    let signatures: Vec<String> = signatures.iter().map(Signature::to_string).collect();
    let params = json!([signatures, {"searchTransactionHistory": history}]);
    nodes.request("getSignatureStatuses", &params, ANSWER_LIMIT)
}

fn complete(answer: &AtSlot<Statuses>, asked: usize) -> Result<(), ChainError> {
    if answer.value.len() == asked { Ok(()) } else { Err(ChainError::Malformed("one entry per signature")) }
}

/// Keeps the more advanced status: a transaction that one node has confirmed is confirmed.
fn merge(known: &mut Statuses, more: Statuses) {
    for (known, more) in known.iter_mut().zip(more) {
        if more.as_ref().is_some_and(|more| known.as_ref().is_none_or(|known| stage(known) < stage(more))) {
            *known = more;
        }
    }
}

fn stage(status: &TransactionStatus) -> u8 {
    use solana_commitment_config::CommitmentConfig;
    let reached = |commitment| u8::from(status.satisfies_commitment(commitment));
    reached(CommitmentConfig::confirmed()).saturating_add(reached(CommitmentConfig::finalized()))
}
