//! The shared poller: one `getSignatureStatuses` request for up to 256 transactions in flight. The age of a
//! transaction decides how often it is polled. A stalled request has its own time limit, so that new transactions do
//! not wait for it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use crtx_protocol::transaction::Outcome;
use futures::future::join_all;
use parking_lot::Mutex;
use solana_commitment_config::CommitmentConfig;
use solana_signature::Signature;
use solana_transaction_status_client_types::TransactionStatus;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    error::ChainError,
    node::after,
    nodes::Nodes,
    statuses::{self, MAX_SIGNATURES_PER_READ},
};

/// A transaction is polled again after this part of its age, within these bounds. A local network confirms within
/// milliseconds, a public one within half a second.
const POLL_FRACTION: f32 = 0.125;
const MIN_POLL: Duration = Duration::from_micros(500);
const MAX_POLL: Duration = Duration::from_millis(250);
/// A transaction that is not confirmed by then is polled at every node, because one node may lag.
const ASK_EVERY_NODE_AFTER: Duration = Duration::from_secs(1);
/// The pause after a poll is at least this part of the poll's duration.
const REST: f32 = 0.5;
/// Time limit of one poll. After a failure it doubles, up to the limit of every request.
const POLL_LIMIT: Duration = Duration::from_secs(2);

/// The outcome of a status, if it is confirmed.
pub(crate) fn outcome_of(status: &TransactionStatus) -> Option<Outcome> {
    status.satisfies_commitment(CommitmentConfig::confirmed()).then(|| match &status.err {
        None => Outcome::Confirmed { slot: status.slot },
        Some(error) => Outcome::Rejected { slot: status.slot, error: error.to_string() },
    })
}

/// The poller. Its task lives as long as this value.
pub(crate) struct Confirmer {
    board: Arc<Board>,
    nodes: Arc<Nodes>,
    limit: Duration,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Board {
    in_flight: Mutex<HashMap<Signature, Flight>>,
    arrived: Notify,
}

struct Flight {
    since: Instant,
    /// When it is polled next.
    due: Instant,
    watchers: usize,
    outcome: watch::Sender<Option<Outcome>>,
}

/// A place on the board. Dropping it stops the polling for this signature.
pub(crate) struct Watched {
    board: Arc<Board>,
    signature: Signature,
    outcome: watch::Receiver<Option<Outcome>>,
}

impl Confirmer {
    /// `limit` bounds one request.
    pub(crate) fn new(nodes: Arc<Nodes>, limit: Duration) -> Self {
        Self { board: Arc::default(), nodes, limit, task: Mutex::new(None) }
    }

    pub(crate) fn watch(&self, signature: Signature) -> Watched {
        self.ensure_running();
        let mut in_flight = self.board.in_flight.lock();
        let flight = in_flight.entry(signature).or_insert_with(|| Flight {
            since: Instant::now(),
            due: Instant::now(),
            watchers: 0,
            outcome: watch::Sender::new(None),
        });
        flight.watchers = flight.watchers.saturating_add(1);
        // A second watcher of an old transaction needs an answer as quickly as the first.
        flight.since = Instant::now();
        flight.due = after(flight.since, MIN_POLL);
        let outcome = flight.outcome.subscribe();
        drop(in_flight);
        self.board.arrived.notify_one();
        Watched { board: Arc::clone(&self.board), signature, outcome }
    }

    /// Starts the task for the first transaction, and again if its runtime has ended.
    fn ensure_running(&self) {
        let mut task = self.task.lock();
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(poll(Arc::clone(&self.board), Arc::clone(&self.nodes), self.limit)));
        }
    }
}

impl Drop for Confirmer {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

impl Watched {
    pub(crate) async fn outcome(&mut self) -> Outcome {
        match self.outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Outcome::Unknown),
            Err(_) => Outcome::Unknown,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut in_flight = self.board.in_flight.lock();
        // The signature may belong to a newer flight, because a settled flight leaves the board immediately.
        let own = |flight: &&mut Flight| flight.outcome.subscribe().same_channel(&self.outcome);
        if let Some(flight) = in_flight.get_mut(&self.signature).filter(own) {
            flight.watchers = flight.watchers.saturating_sub(1);
            if flight.watchers == 0 {
                in_flight.remove(&self.signature);
            }
        }
    }
}

impl Board {
    /// How long to wait before the next poll. `None` if no transaction is in flight.
    fn pause(&self) -> Option<Duration> {
        let due = self.in_flight.lock().values().map(|flight| flight.due).min()?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// The transactions that are due now or so soon that a separate poll is not worth it: the young ones, to be polled at
    /// the best node, and the old ones, to be polled at every node.
    fn due(&self) -> (Vec<Signature>, Vec<Signature>) {
        let (mut young, mut old) = (Vec::new(), Vec::new());
        let now = Instant::now();
        let soon = after(now, MIN_POLL);
        for (signature, flight) in self.in_flight.lock().iter_mut().filter(|(_, flight)| flight.due <= soon) {
            let age = now.saturating_duration_since(flight.since);
            flight.due = after(now, age.mul_f32(POLL_FRACTION).clamp(MIN_POLL, MAX_POLL));
            let group = if age < ASK_EVERY_NODE_AFTER { &mut young } else { &mut old };
            group.push(*signature);
        }
        (young, old)
    }

    fn settle(&self, signature: &Signature, outcome: Outcome) {
        if let Some(flight) = self.in_flight.lock().remove(signature) {
            flight.outcome.send_replace(Some(outcome));
        }
    }
}

async fn poll(board: Arc<Board>, nodes: Arc<Nodes>, longest: Duration) {
    let shortest = POLL_LIMIT.min(longest);
    let mut limit = shortest;
    let mut took = Duration::ZERO;
    loop {
        let Some(pause) = board.pause() else {
            board.arrived.notified().await;
            continue;
        };
        // A slow node gets a pause, because immediate requests would make it slower.
        let rest = took.mul_f32(REST).min(MAX_POLL);
        // A new transaction shortens the long pause of older ones.
        tokio::select! {
            () = tokio::time::sleep(pause.max(rest)) => {}
            () = board.arrived.notified() => tokio::time::sleep(rest.max(MIN_POLL)).await,
        }
        let asked = Instant::now();
        let polled = poll_once(&board, &nodes, limit).await;
        took = asked.elapsed();
        match polled {
            Ok(()) => limit = shortest,
            Err(error) => {
                tracing::debug!(%error, "signature statuses cannot be read");
                limit = limit.saturating_mul(2).min(longest);
                tokio::time::sleep(MAX_POLL).await;
            }
        }
    }
}

/// Polls all transactions that are due. Returns the first error, if there is one.
async fn poll_once(board: &Board, nodes: &Nodes, limit: Duration) -> Result<(), ChainError> {
    let (young, old) = board.due();
    let deadline = after(Instant::now(), limit);
    let young = young.chunks(MAX_SIGNATURES_PER_READ).map(|batch| (batch, false));
    let old = old.chunks(MAX_SIGNATURES_PER_READ).map(|batch| (batch, true));
    let polls = young.chain(old).map(async |(batch, every)| {
        let statuses = if every {
            statuses::of_several(nodes, batch, false, deadline).await
        } else {
            statuses::of_one(nodes, batch, deadline).await
        };
        for (signature, status) in batch.iter().zip(statuses?) {
            if let Some(outcome) = status.as_ref().and_then(outcome_of) {
                board.settle(signature, outcome);
            }
        }
        Ok(())
    });
    join_all(polls).await.into_iter().collect()
}
