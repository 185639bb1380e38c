//! Sending a transaction and learning what became of it.
//!
//! The caller stores a [`SignedTransaction`] before the first send. From then on only the chain can say
//! what happened: an error of the RPC node is [`Outcome::Unknown`], never a failure. [`ChainClient::confirm`]
//! sends the same bytes again and again until the chain has spoken, until they can no longer land, or
//! until the caller's patience ends.
//!
//! All transactions in flight share one poller: one `getSignatureStatuses` for up to 256 of them, as
//! often as the youngest of them deserves.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use solana_commitment_config::CommitmentConfig;
use solana_rpc_client::nonblocking::rpc_client::RpcClient;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;
use solana_transaction_status_client_types::TransactionStatus;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

use crate::{
    rpc::{self, ChainClient, ChainError, MAX_SIGNATURES_PER_READ},
    transaction::SignedTransaction,
};

/// The poller waits this part of a transaction's age between two looks, within these bounds: a local
/// network confirms within milliseconds, a public one within half a second.
const POLL_FRACTION: f32 = 0.125;
const MIN_POLL: Duration = Duration::from_millis(2);
const MAX_POLL: Duration = Duration::from_millis(250);

/// How often the same bytes are sent again, and expiry is looked into.
const RESEND_EVERY: Duration = Duration::from_secs(2);

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It landed and is confirmed. `error` is set if it failed there; its effects are then nil.
    Confirmed { slot: u64, error: Option<TransactionError> },
    /// It did not land and never will: the finalized height is past its last valid one, and the node's
    /// whole history does not have it. Only now may a successor be signed.
    Expired,
    /// Not known yet. Ask again; do not sign another.
    Unknown,
}

impl ChainClient {
    /// Sends `transaction` and waits for at most `patience`. The transaction must have been stored.
    pub async fn send_and_confirm(&self, transaction: &SignedTransaction, patience: Duration) -> Outcome {
        self.drive(transaction, patience, true).await
    }

    /// Waits for a transaction that may have been sent before, sending it again if it is not to be found.
    pub async fn confirm(&self, transaction: &SignedTransaction, patience: Duration) -> Outcome {
        match self.lookup(&transaction.signature, true).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) | Err(_) => self.drive(transaction, patience, false).await,
        }
    }

    /// One look at a transaction: its outcome if it has one by now.
    async fn lookup(&self, signature: &Signature, history: bool) -> Result<Option<Outcome>, ChainError> {
        let statuses = self.signature_statuses(std::slice::from_ref(signature), history).await?;
        Ok(statuses.into_iter().next().flatten().as_ref().and_then(confirmed))
    }

    async fn drive(&self, transaction: &SignedTransaction, patience: Duration, fresh: bool) -> Outcome {
        let mut watched = self.confirmer().watch(transaction.signature);
        let resend = self.resend_until_expired(transaction, fresh);
        tokio::select! {
            biased;
            outcome = watched.outcome() => outcome,
            () = resend => Outcome::Expired,
            () = tokio::time::sleep(patience) => Outcome::Unknown,
        }
    }

    /// Returns once the transaction can no longer land.
    async fn resend_until_expired(&self, transaction: &SignedTransaction, fresh: bool) {
        if !fresh && self.has_expired(transaction).await.unwrap_or(false) {
            return;
        }
        loop {
            if let Err(error) = self.send_bytes(&transaction.bytes).await {
                tracing::debug!(signature = %transaction.signature, %error, "send left the outcome unknown");
            }
            tokio::time::sleep(RESEND_EVERY).await;
            match self.has_expired(transaction).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::debug!(signature = %transaction.signature, %error, "expiry is not known"),
            }
        }
    }

    /// Height first, history second: whatever landed up to that height is in the history by then.
    async fn has_expired(&self, transaction: &SignedTransaction) -> Result<bool, ChainError> {
        let finalized = self.block_height(CommitmentConfig::finalized()).await?;
        if finalized <= transaction.last_valid_block_height {
            return Ok(false);
        }
        let statuses = self.signature_statuses(std::slice::from_ref(&transaction.signature), true).await?;
        Ok(statuses.into_iter().flatten().next().is_none())
    }
}

/// The outcome that a status stands for, once it is confirmed.
fn confirmed(status: &TransactionStatus) -> Option<Outcome> {
    status
        .satisfies_commitment(CommitmentConfig::confirmed())
        .then(|| Outcome::Confirmed { slot: status.slot, error: status.err.clone() })
}

/// The shared poller. Its task lives as long as this value.
pub(crate) struct Confirmer {
    board: Arc<Board>,
    rpc: Arc<RpcClient>,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Board {
    in_flight: Mutex<HashMap<Signature, Flight>>,
    arrived: Notify,
}

struct Flight {
    since: Instant,
    watchers: usize,
    outcome: watch::Sender<Option<Outcome>>,
}

/// A place on the board; leaving it stops the polling for this signature.
struct Watched {
    board: Arc<Board>,
    signature: Signature,
    outcome: watch::Receiver<Option<Outcome>>,
}

impl Confirmer {
    pub(crate) fn new(rpc: Arc<RpcClient>) -> Self {
        Self { board: Arc::default(), rpc, task: Mutex::new(None) }
    }

    fn watch(&self, signature: Signature) -> Watched {
        self.ensure_running();
        let mut in_flight = lock(&self.board.in_flight);
        let flight = in_flight.entry(signature).or_insert_with(|| Flight {
            since: Instant::now(),
            watchers: 0,
            outcome: watch::Sender::new(None),
        });
        flight.watchers = flight.watchers.saturating_add(1);
        // A second watcher of an old transaction deserves a prompt answer as much as the first.
        flight.since = Instant::now();
        let outcome = flight.outcome.subscribe();
        drop(in_flight);
        self.board.arrived.notify_one();
        Watched { board: Arc::clone(&self.board), signature, outcome }
    }

    /// The task starts with the first transaction, and again should its runtime have ended.
    fn ensure_running(&self) {
        let mut task = lock(&self.task);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(poll(Arc::clone(&self.board), Arc::clone(&self.rpc))));
        }
    }
}

impl Drop for Confirmer {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

impl Watched {
    async fn outcome(&mut self) -> Outcome {
        match self.outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Outcome::Unknown),
            Err(_) => Outcome::Unknown,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut in_flight = lock(&self.board.in_flight);
        if let Some(flight) = in_flight.get_mut(&self.signature) {
            flight.watchers = flight.watchers.saturating_sub(1);
            if flight.watchers == 0 {
                in_flight.remove(&self.signature);
            }
        }
    }
}

impl Board {
    /// What to ask about, and how long to wait before.
    fn plan(&self) -> Option<(Vec<Signature>, Duration)> {
        let in_flight = lock(&self.in_flight);
        let youngest = in_flight.values().map(|flight| flight.since.elapsed()).min()?;
        let signatures = in_flight.keys().copied().collect();
        Some((signatures, youngest.mul_f32(POLL_FRACTION).clamp(MIN_POLL, MAX_POLL)))
    }

    fn settle(&self, signature: &Signature, outcome: Outcome) {
        if let Some(flight) = lock(&self.in_flight).remove(signature) {
            flight.outcome.send_replace(Some(outcome));
        }
    }
}

async fn poll(board: Arc<Board>, rpc: Arc<RpcClient>) {
    loop {
        let Some((_, pause)) = board.plan() else {
            board.arrived.notified().await;
            continue;
        };
        // A new transaction shortens the pause that older ones have grown.
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = board.arrived.notified() => tokio::time::sleep(MIN_POLL).await,
        }
        let signatures = board.plan().map(|(signatures, _)| signatures).unwrap_or_default();
        for batch in signatures.chunks(MAX_SIGNATURES_PER_READ) {
            match rpc::signature_statuses(&rpc, batch, false).await {
                Ok(statuses) => {
                    for (signature, status) in batch.iter().zip(statuses) {
                        if let Some(outcome) = status.as_ref().and_then(confirmed) {
                            board.settle(signature, outcome);
                        }
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "signature statuses are not to be had");
                    tokio::time::sleep(MAX_POLL).await;
                }
            }
        }
    }
}

/// A poisoned lock guards nothing that a panic could have left half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use solana_instruction::{AccountMeta, Instruction};
    use solana_keypair::Keypair;
    use solana_pubkey::Pubkey;
    use solana_signer::Signer;

    use super::*;
    use crate::testing::{FakeRpc, OnSend};

    const SHORT: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_secs(20);

    async fn start(on_send: OnSend) -> (FakeRpc, ChainClient, SignedTransaction) {
        let node = FakeRpc::start().await;
        node.script().on_send = on_send;
        let client = ChainClient::new(node.url(), Duration::from_secs(5));
        let transaction = signed(&client, 1).await;
        (node, client, transaction)
    }

    async fn signed(client: &ChainClient, seed: u8) -> SignedTransaction {
        let key = Keypair::new_from_array([seed; 32]);
        let accounts = vec![AccountMeta::new(key.pubkey(), true)];
        let instruction = Instruction { program_id: Pubkey::new_from_array([5; 32]), accounts, data: vec![] };
        let blockhash = client.recent_blockhash().await.expect("blockhash");
        SignedTransaction::sign(&[instruction], &[&key], blockhash).expect("signs")
    }

    #[tokio::test]
    async fn a_landed_transaction_is_confirmed_with_its_slot() {
        let (_node, client, transaction) = start(OnSend::Land).await;
        let outcome = client.send_and_confirm(&transaction, LONG).await;
        assert_eq!(outcome, Outcome::Confirmed { slot: 5, error: None });
    }

    #[tokio::test]
    async fn an_error_on_chain_is_part_of_the_confirmed_outcome() {
        let (_node, client, transaction) = start(OnSend::LandAndFail).await;
        let outcome = client.send_and_confirm(&transaction, LONG).await;
        assert!(matches!(outcome, Outcome::Confirmed { error: Some(_), .. }), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_send_that_errs_but_lands_is_confirmed() {
        let (_node, client, transaction) = start(OnSend::LandButAnswerError).await;
        let outcome = client.send_and_confirm(&transaction, LONG).await;
        assert_eq!(outcome, Outcome::Confirmed { slot: 5, error: None });
    }

    #[tokio::test]
    async fn a_refused_send_is_unknown_and_not_a_failure() {
        let (_node, client, transaction) = start(OnSend::Refuse).await;
        assert_eq!(client.send_and_confirm(&transaction, SHORT).await, Outcome::Unknown);
    }

    #[tokio::test]
    async fn a_transaction_expires_only_after_the_finalized_height_has_passed() {
        let (node, client, transaction) = start(OnSend::Drop).await;
        node.script().finalized_height = 150;
        assert_eq!(client.confirm(&transaction, SHORT).await, Outcome::Unknown);
        node.script().finalized_height = 151;
        assert_eq!(client.confirm(&transaction, LONG).await, Outcome::Expired);
    }

    #[tokio::test]
    async fn what_landed_before_its_height_passed_is_never_called_expired() {
        let (node, client, transaction) = start(OnSend::Land).await;
        node.script().finalized_height = 500;
        node.script().landed.insert(transaction.signature.to_string(), false);
        assert_eq!(client.confirm(&transaction, LONG).await, Outcome::Confirmed { slot: 5, error: None });
        assert!(node.script().sent.is_empty());
    }

    #[tokio::test]
    async fn a_transaction_that_got_lost_is_sent_again_unchanged() {
        let (node, client, transaction) = start(OnSend::Drop).await;
        let waiting = tokio::spawn({
            let (client, transaction) = (client.clone(), transaction.clone());
            async move { client.send_and_confirm(&transaction, LONG).await }
        });
        tokio::time::sleep(SHORT).await;
        node.script().on_send = OnSend::Land;
        assert_eq!(waiting.await.expect("joined"), Outcome::Confirmed { slot: 5, error: None });
        assert_eq!(node.script().sent, vec![transaction.bytes.clone(), transaction.bytes]);
    }

    #[tokio::test]
    async fn transactions_in_flight_share_one_request() {
        let (node, client, _) = start(OnSend::Drop).await;
        let mut waiting = Vec::new();
        for seed in 10..40 {
            let (client, transaction) = (client.clone(), signed(&client, seed).await);
            waiting.push(tokio::spawn(async move { client.send_and_confirm(&transaction, SHORT).await }));
        }
        for task in waiting {
            assert_eq!(task.await.expect("joined"), Outcome::Unknown);
        }
        assert_eq!(node.script().status_batches.iter().max(), Some(&30));
    }

    #[tokio::test]
    async fn nobody_is_asked_once_nobody_waits() {
        let (node, client, transaction) = start(OnSend::Drop).await;
        assert_eq!(client.send_and_confirm(&transaction, SHORT).await, Outcome::Unknown);
        tokio::time::sleep(SHORT).await;
        let asked = node.script().status_batches.len();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(node.script().status_batches.len(), asked);
    }
}
