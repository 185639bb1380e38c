//! Sends a transaction and determines its outcome.
//!
//! The caller stores a [`SignedTransaction`] before the first send. From then on only the chain decides what
//! happened: an error of an RPC node is [`Outcome::Unknown`], never a failure. [`ChainClient::confirm`] sends the
//! same bytes again until the outcome is known, until they can no longer land, or until the caller's patience ends.

use std::time::Duration;

use crtx_protocol::transaction::Outcome;
use serde::Deserialize;
use serde_json::json;
use solana_commitment_config::CommitmentConfig;
use solana_signature::Signature;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    confirm::outcome_of,
    node::after,
    nodes::Whom,
    rpc::{ChainClient, ChainError},
    statuses,
    transaction::SignedTransaction,
};

/// How often the same bytes are sent again and expiry is checked.
const RESEND_EVERY: Duration = Duration::from_secs(2);
/// Pause after a send that no node accepted.
const RESEND_AFTER_ERROR: Duration = Duration::from_millis(500);
/// Time limit of one read of the history of every node.
const READ_LIMIT: Duration = Duration::from_secs(3);
/// "Not found" counts after two reads with this pause between them, or with this part of the caller's patience if
/// that is shorter: nodes write their history a little later than they execute.
const EXPIRY_PAUSE: Duration = Duration::from_secs(1);
const EXPIRY_PAUSE_FRACTION: f32 = 0.25;
const SMALL_ANSWER: usize = 64 * 1024;

impl ChainClient {
    /// Sends `transaction` and waits for at most `patience`. The transaction must be stored first.
    pub async fn send_and_confirm(&self, transaction: &SignedTransaction, patience: Duration) -> Outcome {
        self.drive(transaction, patience, true).await
    }

    /// Waits for at most `patience` for a transaction that may have been sent before. It is sent again if it is not
    /// found.
    pub async fn confirm(&self, transaction: &SignedTransaction, patience: Duration) -> Outcome {
        self.drive(transaction, patience, false).await
    }

    async fn drive(&self, transaction: &SignedTransaction, patience: Duration, fresh: bool) -> Outcome {
        let mut watched = self.shared.confirmer.watch(transaction.signature);
        let pause = EXPIRY_PAUSE.min(patience.mul_f32(EXPIRY_PAUSE_FRACTION));
        let resend = self.resend_until_resolved(transaction, fresh, pause);
        let resolved = async {
            tokio::select! {
                biased;
                outcome = watched.outcome() => outcome,
                outcome = resend => outcome,
            }
        };
        let outcome = timeout(patience, resolved).await.unwrap_or(Outcome::Unknown);
        if let Outcome::Confirmed { slot } | Outcome::Rejected { slot, .. } = &outcome {
            self.shared.seen.note(*slot, std::time::Instant::now());
        }
        outcome
    }

    /// Returns once the transaction has landed, or can no longer land.
    async fn resend_until_resolved(&self, transaction: &SignedTransaction, fresh: bool, pause: Duration) -> Outcome {
        if !fresh && let Some(outcome) = self.first_read(transaction, pause).await {
            return outcome;
        }
        loop {
            // A stalled send continues while the next one tries another connection.
            let sent = timeout(RESEND_EVERY, self.send_bytes(&transaction.bytes)).await;
            if let Ok(Err(error)) = &sent {
                tracing::debug!(signature = %transaction.signature, %error, "send left the outcome unknown");
            }
            sleep(if matches!(sent, Ok(Ok(()))) { RESEND_EVERY } else { RESEND_AFTER_ERROR }).await;
            if let Some(outcome) = self.known(self.expired(transaction, pause).await, transaction) {
                return outcome;
            }
        }
    }

    /// Reads the outcome first, so that a transaction that has landed is not sent again, however old it is.
    async fn first_read(&self, transaction: &SignedTransaction, pause: Duration) -> Option<Outcome> {
        let landed = self.known(self.landed(&transaction.signature).await, transaction);
        match landed {
            Some(outcome) => Some(outcome),
            None => self.known(self.expired(transaction, pause).await, transaction),
        }
    }

    fn known(&self, read: Result<Option<Outcome>, ChainError>, transaction: &SignedTransaction) -> Option<Outcome> {
        read.unwrap_or_else(|error| {
            tracing::debug!(signature = %transaction.signature, %error, "the outcome is not known");
            None
        })
    }

    /// The outcome in the history of any node.
    async fn landed(&self, signature: &Signature) -> Result<Option<Outcome>, ChainError> {
        let signatures = std::slice::from_ref(signature);
        let deadline = after(Instant::now(), READ_LIMIT.min(self.shared.timeout));
        let statuses = statuses::of_several(&self.shared.nodes, signatures, true, deadline).await?;
        Ok(statuses.into_iter().flatten().next().as_ref().and_then(outcome_of))
    }

    /// Returns `Expired` if the transaction can no longer land: the finalized height is past the last valid one, and
    /// two reads of the history do not find the transaction. Only nodes that have reached that height count, because
    /// a load balancer may answer the two questions from nodes of different age.
    async fn expired(&self, transaction: &SignedTransaction, pause: Duration) -> Result<Option<Outcome>, ChainError> {
        let finalized = CommitmentConfig::finalized();
        if self.block_height(finalized).await? <= transaction.last_valid_block_height {
            return Ok(None);
        }
        let end = self.epoch_info(finalized).await?;
        if end.block_height <= transaction.last_valid_block_height {
            return Ok(None);
        }
        for attempt in 0..2 {
            if attempt > 0 {
                sleep(pause).await;
            }
            match self.find_up_to(&transaction.signature, end.absolute_slot).await {
                SignatureLookup::Nothing => {}
                SignatureLookup::Landed(outcome) => return Ok(outcome),
                SignatureLookup::Unclear => return Ok(None),
            }
        }
        Ok(Some(Outcome::Expired))
    }

    /// Asks every node. If a node that has not reached `slot` finds nothing, its answer does not count.
    async fn find_up_to(&self, signature: &Signature, slot: u64) -> SignatureLookup {
        let signatures = std::slice::from_ref(signature);
        let deadline = after(Instant::now(), READ_LIMIT.min(self.shared.timeout));
        let answers = statuses::of_each(&self.shared.nodes, signatures, true, deadline, Whom::Everybody).await;
        let mut found = SignatureLookup::Unclear;
        for answer in answers.into_iter().flatten() {
            match answer.value.into_iter().next().flatten() {
                Some(status) => return SignatureLookup::Landed(outcome_of(&status)),
                None if answer.slot >= slot => found = SignatureLookup::Nothing,
                None => {}
            }
        }
        found
    }

    async fn epoch_info(&self, commitment: CommitmentConfig) -> Result<EpochInfo, ChainError> {
        let params = json!([{"commitment": commitment.commitment}]);
        self.read("getEpochInfo", &params, SMALL_ANSWER).await
    }
}

/// A slot and the height of its block, read together.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EpochInfo {
    absolute_slot: u64,
    block_height: u64,
}

enum SignatureLookup {
    /// At least one node that has reached the slot does not have it, and no other node has it.
    Nothing,
    /// A node has it, with its outcome once it is confirmed.
    Landed(Option<Outcome>),
    /// No node that has reached the slot answered.
    Unclear,
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
        assert_eq!(outcome, Outcome::Confirmed { slot: 5 });
    }

    #[tokio::test]
    async fn a_transaction_that_fails_on_chain_is_rejected() {
        let (_node, client, transaction) = start(OnSend::LandAndFail).await;
        let outcome = client.send_and_confirm(&transaction, LONG).await;
        assert!(matches!(outcome, Outcome::Rejected { slot: 5, .. }), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_send_that_errs_but_lands_is_confirmed() {
        let (_node, client, transaction) = start(OnSend::LandButAnswerError).await;
        let outcome = client.send_and_confirm(&transaction, LONG).await;
        assert_eq!(outcome, Outcome::Confirmed { slot: 5 });
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
        assert_eq!(client.confirm(&transaction, LONG).await, Outcome::Confirmed { slot: 5 });
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
        assert_eq!(waiting.await.expect("joined"), Outcome::Confirmed { slot: 5 });
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
    async fn no_node_is_asked_once_no_caller_waits() {
        let (node, client, transaction) = start(OnSend::Drop).await;
        assert_eq!(client.send_and_confirm(&transaction, SHORT).await, Outcome::Unknown);
        tokio::time::sleep(SHORT).await;
        let asked = node.script().status_batches.len();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(node.script().status_batches.len(), asked);
    }
}
