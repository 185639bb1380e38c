//! What the loops of a mirror share: the source that it reads, the database that it writes, and what it knows.

use std::{sync::Arc, time::Duration};

use crtx_store::{PgPool, StoreError};
use parking_lot::{Mutex, MutexGuard};
use solana_pubkey::Pubkey;
use tokio::{sync::Notify, time::Instant};
use uuid::Uuid;

use super::{known::Known, problems::SyncProblems};
use crate::{
    figures::Figures,
    history::History,
    source::{AccountSource, SourceError},
};

/// A proof of the lead holds for this time: less than a lead survives without a word (`crtx_store::leadership`).
const LEASE: Duration = Duration::from_millis(3_500);

/// How often the mirror compares, and what its operator allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncSettings {
    /// Between snapshots. A snapshot adds the changes that the stream missed.
    pub resync_interval: Duration,
    /// Between looks at the finalized state.
    pub finality_interval: Duration,
    /// Between questions for new transactions.
    pub probe_interval: Duration,
    /// How long a step of the stream waits for more events, unless it is full. A call changes several accounts several
    /// times, so one transaction writes what would be many. It also writes after the gateway, which learns of a change at
    /// the same moment and whose callers would wait for the locks of this transaction.
    pub gathering: Duration,
    /// Before a second look at something that would hide much.
    pub second_look_after: Duration,
    /// Hide accounts that the chain does not have, however many they are.
    pub accept_mass_closing: bool,
    /// Replace the mirror if the node belongs to another chain.
    pub accept_new_genesis: bool,
}

impl SyncSettings {
    pub const fn new(resync_interval: Duration) -> Self {
        Self {
            resync_interval,
            finality_interval: Duration::from_secs(1),
            probe_interval: Duration::from_secs(1),
            gathering: Duration::from_millis(100),
            second_look_after: Duration::from_secs(3),
            accept_mass_closing: false,
            accept_new_genesis: false,
        }
    }
}

/// Why the mirror cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The node belongs to another chain than the mirror, and nobody allowed that.
    #[error("{0}")]
    OtherGenesis(String),
    /// A snapshot that cannot be true.
    #[error("{0}")]
    Doubtful(String),
}

impl SyncError {
    /// The code of this problem in `GET /v1/status`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Source(error) => error.code(),
            Self::Store(_) => "database_unavailable",
            Self::OtherGenesis(_) => "other_genesis_held",
            Self::Doubtful(_) => "snapshot_failed",
        }
    }
}

/// One indexer's mirror: the source it reads and the database it writes.
pub struct Syncer {
    /// The process in `indexer_processes`.
    pub(super) id: Uuid,
    pub(super) source: Arc<dyn AccountSource>,
    pub(super) pool: PgPool,
    pub(super) program: Pubkey,
    pub(super) settings: SyncSettings,
    pub(super) figures: Arc<Figures>,
    pub(super) problems: SyncProblems,
    pub(super) history: Option<Arc<dyn History>>,
    /// Notified when listings may have changed, so that new documents are fetched at once.
    pub listings_changed: Notify,
    /// Asks for a snapshot now.
    pub(super) resync_now: Notify,
    /// Asks for a look at suspected rows now.
    pub(super) look_now: Notify,
    /// Asks for a comparison of the nodes now.
    pub(super) doubt_now: Notify,
    /// One snapshot at a time: what is applied has to be noted before the indexed slot moves.
    pub(super) one_resync: tokio::sync::Mutex<()>,
    /// When this process proved last that it writes the mirror.
    lead: Mutex<Option<Instant>>,
    known: Mutex<Known>,
}

impl Syncer {
    /// Closings are proved by the confirmed transactions of the history.
    pub fn new(
        source: Arc<dyn AccountSource>,
        pool: PgPool,
        program: Pubkey,
        settings: SyncSettings,
        history: Option<Arc<dyn History>>,
        figures: Arc<Figures>,
    ) -> Self {
        Self {
            id: Uuid::new_v4(),
            source,
            pool,
            program,
            settings,
            figures,
            problems: SyncProblems::default(),
            history,
            listings_changed: Notify::new(),
            resync_now: Notify::new(),
            look_now: Notify::new(),
            doubt_now: Notify::new(),
            one_resync: tokio::sync::Mutex::default(),
            lead: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// Nobody may hold this over a wait, or take it twice.
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }

    /// Whether the stream has more than is applied.
    pub(super) fn is_late(&self) -> bool {
        self.known().heard.late()
    }

    /// Whether this process writes the mirror. Others stand by, and do no work that should be done once. One that was
    /// paused does not, until it has proved that it still leads.
    pub fn leads(&self) -> bool {
        self.lead.lock().is_some_and(|proved| proved.elapsed() < LEASE)
    }

    /// This process leads now, or has lost the lead.
    pub(super) fn prove_lead(&self, leads: bool) {
        *self.lead.lock() = leads.then(Instant::now);
    }

    /// Says that the node is not believed.
    pub(super) fn doubtful(&self, what: &str) -> SyncError {
        SyncError::Doubtful(format!("the node at {} {what}", self.source.name()))
    }
}
