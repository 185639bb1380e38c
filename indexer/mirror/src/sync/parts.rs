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
use uuid::Uuid;

use super::{
    changes::Changes, doubts::Doubts, problems::Problems, proved::Proved, pulse::Pulse, settings::SyncSettings,
};
use crate::{
    figures::Figures,
    history::History,
    source::{AccountSource, MAX_ACCOUNTS_PER_READ},
};

pub struct Parts {
    /// The process in `indexer_processes`.
    pub id: Uuid,
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
    /// The snapshot that is taken was asked for: the stream should bring what it adds.
    pub asked: AtomicBool,
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
    /// The stored slots were compared with the chain's.
    pub slots_checked: AtomicBool,
    /// Since when the chain is seen long before the slot that was believed.
    pub behind_since: Mutex<Option<Instant>>,
    /// Since when the stored slot is seen long after the chain's.
    pub ahead_since: Mutex<Option<Instant>>,
    /// The digest cannot show an earlier slot: accounts were read at this one.
    pub filled_at: AtomicU64,
    /// Changes that the stream delivered, for the probe.
    pub delivered: Mutex<Delivered>,
    /// One snapshot at a time: what is applied has to be noted before the indexed slot moves.
    pub one_resync: tokio::sync::Mutex<()>,
    changes: Mutex<Changes>,
    proved: Mutex<Proved>,
    /// An account that exists. A read that does not find it is not believed.
    witnessed: Mutex<Option<Pubkey>>,
}

/// The newest changes: their slots and accounts.
#[derive(Debug, Default)]
pub struct Delivered {
    changes: std::collections::BTreeSet<(u64, Pubkey)>,
    /// Accounts that a read showed in a new state: when, and the slot after which they changed.
    read: Vec<(Instant, Pubkey, u64)>,
    /// The node's notifications carry slots that are older than what they tell.
    pub stale_slots: bool,
}

/// One place of a read is for an account that must exist.
pub const READ_AT_ONCE: usize = MAX_ACCOUNTS_PER_READ - 1;
/// For so long after its last proof a process leads. Others take over only later.
pub const LEASE: Duration = Duration::from_secs(5);
/// Accounts whose changes are expected after a read.
const MAX_EXPECTED: usize = 1_000;
/// Changes that are remembered. What is forgotten is read.
const MAX_CHANGES: usize = 100_000;

impl Delivered {
    pub fn add(&mut self, slot: u64, address: Pubkey) {
        self.changes.insert((slot, address));
        if self.changes.len() > MAX_CHANGES {
            self.changes.pop_first();
        }
    }

    pub fn has(&self, slot: u64, address: &Pubkey) -> bool {
        self.changes.contains(&(slot, *address))
    }

    /// Whether a change in that slot was delivered.
    pub fn has_slot(&self, slot: u64) -> bool {
        let of_slot = self.changes.range((slot, Pubkey::default())..);
        of_slot.into_iter().next().is_some_and(|(changed, _)| *changed == slot)
    }

    /// The stream should bring the change that this read showed.
    pub fn expect(&mut self, address: Pubkey, since: u64) {
        if self.read.len() < MAX_EXPECTED {
            self.read.push((Instant::now(), address, since));
        }
    }

    /// Whether the stream did not bring a change so long after a read had shown it.
    pub fn missed(&mut self, after: Duration) -> bool {
        let read = std::mem::take(&mut self.read);
        let (due, waiting): (Vec<_>, Vec<_>) = read.into_iter().partition(|(at, ..)| at.elapsed() >= after);
        self.read = waiting;
        due.iter().any(|(_, address, since)| !self.has_later(*since, address)) && !self.stale_slots
    }

    /// Whether the account changed after that slot.
    pub fn has_later(&self, slot: u64, address: &Pubkey) -> bool {
        let later = self.changes.range((slot.saturating_add(1), Pubkey::default())..);
        later.into_iter().any(|(_, changed)| changed == address)
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
            id: Uuid::new_v4(),
            source,
            pool,
            program,
            settings,
            figures,
            problems: Problems::default(),
            pulse: Pulse::default(),
            listings_changed: Arc::new(Notify::new()),
            resync_now: Notify::new(),
            asked: AtomicBool::new(false),
            look_now: Notify::new(),
            doubt_now: Notify::new(),
            lead: Mutex::default(),
            history: OnceLock::new(),
            doubts: Mutex::default(),
            caught_up: AtomicBool::new(false),
            filled: AtomicBool::new(false),
            unproved_due: AtomicBool::new(false),
            indexed: AtomicU64::new(0),
            slots_checked: AtomicBool::new(false),
            behind_since: Mutex::default(),
            ahead_since: Mutex::default(),
            filled_at: AtomicU64::new(0),
            delivered: Mutex::default(),
            one_resync: tokio::sync::Mutex::default(),
            changes: Mutex::default(),
            proved: Mutex::default(),
            witnessed: Mutex::default(),
        }
    }

    pub fn changes(&self) -> MutexGuard<'_, Changes> {
        lock(&self.changes)
    }

    pub fn proved(&self) -> MutexGuard<'_, Proved> {
        lock(&self.proved)
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
        *self.proved() = Proved::default();
        self.changes().forget();
    }
}
