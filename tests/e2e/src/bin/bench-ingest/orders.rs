//! What the benchmark tells the node to do, and what it asks it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{
    Json,
    extract::{Path, State},
};
use crtx_store::testing::market::Random;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};

use super::{chain::is_execution, clock::now, node_state::Node, subscribers::News};

/// Executions whose way into the database is timed.
const PROBES: u32 = 64;
/// The newest changes that a report names.
const NEWEST: u64 = 200;

/// What the node has done so far.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NodeState {
    /// Accounts that lists of the program's accounts have contained.
    pub listed: u64,
    pub subscriptions: usize,
    /// All revisions, added up.
    pub sum_of_revisions: u64,
    pub requests: std::collections::BTreeMap<String, u64>,
}

/// Changes at a steady rate.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Emission {
    pub per_second: u32,
    pub seconds: u32,
    /// Of these changes, so many per second are of probes.
    pub probes_per_second: u32,
}

/// An account's new revision, and when it was due to be told, in seconds since 1970.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Told {
    pub number: u32,
    pub revision: u32,
    pub at: f64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Emitted {
    pub changes: u64,
    pub began: f64,
    pub probes: Vec<Told>,
    pub newest: Vec<Told>,
}

/// The accounts whose way into the database is timed, on a chain with so many accounts.
pub fn probes(accounts: u32) -> Vec<u32> {
    let spread = (accounts / PROBES).max(1);
    (0..PROBES).map(|probe| execution_from(probe * spread, accounts)).collect()
}

/// The first execution from this number on.
pub fn execution_from(number: u32, accounts: u32) -> u32 {
    (number..accounts).find(|number| is_execution(*number)).unwrap_or(accounts - 1)
}

pub async fn state(State(node): State<Arc<Node>>) -> Json<NodeState> {
    Json(NodeState {
        listed: node.listed.load(Ordering::Relaxed),
        subscriptions: node.subscribers.len(),
        sum_of_revisions: node.chain.sum_of_revisions(),
        requests: node.requests.lock().expect("nobody panicked").clone(),
    })
}

/// Changes an account and tells nobody. Answers with its new revision.
pub async fn change(State(node): State<Arc<Node>>, Path(number): Path<u32>) -> Json<u32> {
    Json(node.change(number).0)
}

/// Changes accounts at a steady rate, half of them listings, as payments do. Answers when the last one is told.
pub async fn emit(State(node): State<Arc<Node>>, Json(emission): Json<Emission>) -> Json<Emitted> {
    let total = u64::from(emission.per_second) * u64::from(emission.seconds);
    let (started, began) = (Instant::now(), now());
    let mut emitted = Emitted { changes: total, began, probes: Vec::new(), newest: Vec::new() };
    let mut picks = Picks::new(&node, emission);
    for change in 0..total {
        let due = Duration::from_secs_f64(change as f64 / f64::from(emission.per_second));
        if started.elapsed() < due {
            sleep_until(started + due).await;
        }
        let (number, is_probe) = picks.next(&node);
        let (revision, slot) = node.change(number);
        let told = Told { number, revision, at: began + due.as_secs_f64() };
        if is_probe {
            emitted.probes.push(told);
        }
        if change + NEWEST >= total {
            emitted.newest.push(told);
        }
        let (address, data) = (super::chain::address(number), node.chain.data(number));
        node.subscribers.tell(News::Change { slot, address, data }).await;
    }
    Json(emitted)
}

/// Which accounts change.
struct Picks {
    random: Random,
    probes: Vec<u32>,
    /// A probe for so many changes.
    per_probe: u64,
    count: u64,
    /// The listing that changes after its execution.
    listing: Option<u32>,
}

impl Picks {
    fn new(node: &Node, emission: Emission) -> Self {
        Self {
            random: Random::new(31),
            probes: probes(node.chain.len()),
            per_probe: u64::from(emission.per_second / emission.probes_per_second.max(1)).max(1),
            count: 0,
            listing: None,
        }
    }

    fn next(&mut self, node: &Node) -> (u32, bool) {
        self.count += 1;
        if self.count.is_multiple_of(self.per_probe) {
            let probe = self.probes[(self.count / self.per_probe) as usize % self.probes.len()];
            return (probe, true);
        }
        if let Some(listing) = self.listing.take() {
            return (listing, false);
        }
        let execution = execution_from(self.random.below(node.chain.len()), node.chain.len());
        self.listing = Some(node.chain.listing_near(execution));
        (execution, false)
    }
}
