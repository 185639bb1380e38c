//! What all parts of the scripted node share: the chain, the subscribers, the newest transactions.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, atomic::AtomicU64},
};

use super::{chain::Chain, clock::Slots, subscribers::Subscribers};

/// Transactions that the node remembers.
const HISTORY: usize = 200_000;

/// What all parts of the node share.
pub struct Node {
    pub chain: Chain,
    pub slots: Slots,
    pub subscribers: Subscribers,
    pub history: Mutex<History>,
    /// Accounts that lists of the program's accounts have contained.
    pub listed: AtomicU64,
    pub requests: Mutex<BTreeMap<String, u64>>,
}

/// The slots of the newest transactions. Each change is one; they are numbered from 0.
#[derive(Default)]
pub struct History {
    pub first: u64,
    pub slots: VecDeque<u64>,
}

impl History {
    pub fn add(&mut self, slot: u64) {
        self.slots.push_back(slot);
        if self.slots.len() > HISTORY {
            self.slots.pop_front();
            self.first += 1;
        }
    }
}

impl Node {
    pub fn new(accounts: u32) -> Self {
        Self {
            chain: Chain::new(accounts),
            slots: Slots::new(),
            subscribers: Subscribers::default(),
            history: Mutex::default(),
            listed: AtomicU64::new(0),
            requests: Mutex::default(),
        }
    }

    /// Counts a request.
    pub fn note(&self, method: &str) {
        let mut requests = self.requests.lock().expect("nobody panicked");
        *requests.entry(method.to_owned()).or_default() += 1;
    }

    /// A change that the node has seen; not yet told to anybody.
    pub fn change(&self, number: u32) -> (u32, u64) {
        let slot = self.slots.confirmed();
        let revision = self.chain.change(number);
        self.history.lock().expect("nobody panicked").add(slot);
        (revision, slot)
    }
}
