//! What all parts of one mirror share.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crtx_store::PgPool;
use solana_pubkey::Pubkey;
use tokio::{sync::Notify, time::Instant};

use super::{changes::Changes, nodes::Doubts, problems::Problems, pulse::Pulse, settings::SyncSettings};
use crate::{figures::Figures, history::History, source::AccountSource};

pub struct Parts {
    pub source: Arc<dyn AccountSource>,
    pub pool: PgPool,
    pub program: Pubkey,
    pub settings: SyncSettings,
    pub figures: Arc<Figures>,
    pub problems: Problems,
    pub pulse: Pulse,
    /// Notified when listings may have changed.
    pub listings_changed: Arc<Notify>,
    /// Asks for a snapshot now.
    pub resync_now: Notify,
    /// Asks for a look at suspected rows now.
    pub look_now: Notify,
    /// Asks for a comparison of the nodes now.
    pub doubt_now: Notify,
    /// When this process proved last that it writes the mirror.
    lead: Mutex<Option<Instant>>,
    /// Proves closings: confirmed transactions of the chain.
    pub history: OnceLock<Arc<dyn History>>,
    /// Accounts that two nodes may show differently.
    pub doubts: Mutex<Doubts>,
    /// A snapshot of this connection was applied, so that what the stream delivers is all that is missing.
    pub caught_up: AtomicBool,
    /// The finalized accounts were read as a whole since this process leads.
    pub filled: AtomicBool,
    /// A snapshot was applied since closed rows of accounts that were never final were looked at.
    pub unproved_due: AtomicBool,
    /// The slot up to which every change was delivered and applied.
    pub indexed: AtomicU64,
    /// The digest cannot show an earlier slot: accounts were read at this one.
    pub filled_at: AtomicU64,
    /// Changes that the stream delivered, for the probe.
    pub delivered: Mutex<Delivered>,
    /// One snapshot at a time: what is applied has to be noted before the indexed slot moves.
    pub one_resync: tokio::sync::Mutex<()>,
    changes: Mutex<Changes>,
    /// An account that exists. A read that does not find it is not believed.
    witnessed: Mutex<Option<Pubkey>>,
}

/// The newest slots with a change.
#[derive(Debug, Default)]
pub struct Delivered {
    slots: std::collections::BTreeSet<u64>,
    /// The node's notifications carry slots that are older than what they tell.
    pub stale_slots: bool,
}

/// For so long after its last proof a process leads. Others take over only later.
pub const LEASE: Duration = Duration::from_secs(5);
/// Slots with a change that are remembered.
const MAX_SLOTS: usize = 4_096;

impl Delivered {
    pub fn add(&mut self, slot: u64) {
        self.slots.insert(slot);
        if self.slots.len() > MAX_SLOTS {
            self.slots.pop_first();
        }
    }

    pub fn has(&self, slot: u64) -> bool {
        self.slots.contains(&slot)
    }
}

/// A panic leaves the data behind this lock consistent, so poisoning is ignored.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Parts {
    pub fn new(
        source: Arc<dyn AccountSource>,
        pool: PgPool,
        program: Pubkey,
        settings: SyncSettings,
        figures: Arc<Figures>,
    ) -> Self {
        Self {
            source,
            pool,
            program,
            settings,
            figures,
            problems: Problems::default(),
            pulse: Pulse::default(),
            listings_changed: Arc::new(Notify::new()),
            resync_now: Notify::new(),
            look_now: Notify::new(),
            doubt_now: Notify::new(),
            lead: Mutex::default(),
            history: OnceLock::new(),
            doubts: Mutex::default(),
            caught_up: AtomicBool::new(false),
            filled: AtomicBool::new(false),
            unproved_due: AtomicBool::new(false),
            indexed: AtomicU64::new(0),
            filled_at: AtomicU64::new(0),
            delivered: Mutex::default(),
            one_resync: tokio::sync::Mutex::default(),
            changes: Mutex::default(),
            witnessed: Mutex::default(),
        }
    }

    pub fn changes(&self) -> MutexGuard<'_, Changes> {
        lock(&self.changes)
    }

    /// Whether this process writes the mirror. One that was paused does not, until it has proved that it still leads.
    pub fn leads(&self) -> bool {
        lock(&self.lead).is_some_and(|proved| proved.elapsed() < LEASE)
    }

    /// This process leads now, or has lost the lead.
    pub fn prove_lead(&self, leads: bool) {
        *lock(&self.lead) = leads.then(Instant::now);
    }

    pub fn indexed(&self) -> u64 {
        self.indexed.load(Ordering::Relaxed)
    }

    pub fn witnessed(&self) -> Option<Pubkey> {
        *lock(&self.witnessed)
    }

    /// Remembers an account that a snapshot had.
    pub fn witness_account(&self, address: Pubkey) {
        *lock(&self.witnessed) = Some(address);
    }

    /// Forgets what is known of a chain: the mirror was replaced.
    pub fn forget_chain(&self) {
        self.indexed.store(0, Ordering::Relaxed);
        self.filled_at.store(0, Ordering::Relaxed);
        self.filled.store(false, Ordering::Relaxed);
        self.pulse.forget_slots();
        *lock(&self.doubts) = Doubts::default();
        *lock(&self.delivered) = Delivered::default();
        *lock(&self.witnessed) = None;
        self.changes().forget();
    }
}
