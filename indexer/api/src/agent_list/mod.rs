//! The list of agents in memory: what `GET /v1/agents` answers from. A task follows the database and publishes tables
//! that never change; requests read the last one, so a page, its total and its slot belong together.

mod answers;
mod bits;
mod model;
mod names;
mod order;
mod query;
mod reader;
mod row;
mod search;
mod shown_json;
mod table;

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering as Atomic},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use crtx_store::PgPool;
use solana_pubkey::Pubkey;
use tokio::{
    sync::{Mutex, Notify},
    time::{sleep, timeout},
};

pub use model::{Agent, Model};
pub use query::{Filter, Ordering, Page, Place, Start};
pub use reader::ReadError;
pub use row::{Address, Row, Sort};
pub use search::{Document, MAX_WORDS, words};
pub use table::Table;

use answers::Answers;
use names::Names;
use reader::{Reader, Shown};

/// Between two looks at the database.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look is followed by a pause of at least so many times its own length, so that a large list with many changes uses a
/// fifth of a processor at most.
const PAUSE_PER_LOOK: u32 = 4;
/// After a look that failed.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// Names of an older table are not used.
const MAX_AGE_OF_NAMES: Duration = Duration::from_secs(2);
/// How long a request waits for the first table.
const PATIENCE: Duration = Duration::from_secs(2);

/// The list of agents. It starts with the first question, or with [`AgentList::start`].
pub struct AgentList {
    pool: PgPool,
    current: ArcSwapOption<Current>,
    reader: Mutex<Reader>,
    names: Arc<Names>,
    started: AtomicBool,
    published: Notify,
}

/// A table, and when it was true.
pub struct Current {
    shown: Shown,
    /// Before its rows were read.
    at: Instant,
    answers: Arc<Answers>,
}

impl Current {
    pub fn table(&self) -> &Table {
        &self.shown.table
    }

    /// Answers that were made of the table.
    pub fn answers(&self) -> &Answers {
        &self.answers
    }

    /// The slot that the mirror had reached when the rows were read.
    pub const fn slot(&self) -> Option<u64> {
        self.shown.slot
    }

    /// How long ago the rows were read.
    pub fn age(&self) -> Duration {
        self.at.elapsed()
    }
}

impl AgentList {
    pub fn new(pool: PgPool) -> Arc<Self> {
        let reader = Reader::default();
        Arc::new(Self {
            pool,
            current: ArcSwapOption::empty(),
            names: reader.names(),
            reader: Mutex::new(reader),
            started: AtomicBool::new(false),
            published: Notify::new(),
        })
    }

    /// Begins to follow the database, if there is a runtime.
    pub fn start(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && !self.started.swap(true, Atomic::AcqRel)
        {
            runtime.spawn(follow(Arc::downgrade(self)));
        }
    }

    /// The last table. Waits a moment for the first one; `None` if there is none yet.
    pub async fn current(self: &Arc<Self>) -> Option<Arc<Current>> {
        if let Some(current) = self.current.load_full() {
            return Some(current);
        }
        self.start();
        let first = async {
            loop {
                let published = self.published.notified();
                if let Some(current) = self.current.load_full() {
                    return current;
                }
                published.await;
            }
        };
        timeout(PATIENCE, first).await.ok()
    }

    /// How old the last table is; `None` before the first.
    pub fn age(&self) -> Option<Duration> {
        self.current.load().as_ref().map(|current| current.age())
    }

    /// The slot of the last table.
    pub fn indexed_slot(&self) -> Option<u64> {
        self.current.load().as_ref().and_then(|current| current.slot())
    }

    /// The names of those agents that are listed, in the order of `agents`, and a slot that they are not older than.
    /// `None`: there is no table of the last moments.
    pub fn names(&self, agents: &[Pubkey]) -> Option<(Vec<Option<String>>, u64)> {
        // Before the names are read.
        let slot = self.current.load().as_ref().filter(|current| current.age() <= MAX_AGE_OF_NAMES)?.slot()?;
        Some((self.names.of(agents), slot))
    }

    /// Reads what is committed now, and publishes it.
    pub async fn refresh(&self) -> Result<(), ReadError> {
        let mut reader = self.reader.lock().await;
        let at = Instant::now();
        let shown = reader.read(&self.pool).await?;
        let last = self.current.load_full();
        let unchanged = last.filter(|last| Arc::ptr_eq(&last.shown.table, &shown.table));
        let answers = unchanged.map_or_else(Arc::default, |last| Arc::clone(&last.answers));
        self.current.store(Some(Arc::new(Current { shown, at, answers })));
        drop(reader);
        self.published.notify_waiters();
        Ok(())
    }
}

/// Ends with the service. The first failure of several is logged.
async fn follow(list: Weak<AgentList>) {
    let mut failed = false;
    while let Some(list) = list.upgrade() {
        let started = Instant::now();
        let outcome = list.refresh().await;
        drop(list);
        match outcome {
            Ok(()) => {
                failed = false;
                sleep(LOOK_EVERY.max(started.elapsed().saturating_mul(PAUSE_PER_LOOK))).await;
            }
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    tracing::warn!(%error, "the list of agents cannot be read from the database; it stays as it is");
                }
                sleep(RETRY_AFTER).await;
            }
        }
    }
}
