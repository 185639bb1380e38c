//! The list of agents in memory: what `GET /v1/agents` answers from. A task follows the database and publishes tables
//! that never change; requests read the last one, so a page, its total and its slot belong together.

mod answers;
mod model;
mod query;
mod reader;
mod search;
mod sort;
mod table;

use std::{
    sync::{Arc, Once, Weak},
    time::{Duration, Instant},
};

use crtx_store::PgPool;
use solana_pubkey::Pubkey;
use tokio::{
    sync::{Mutex, watch},
    time::{sleep, timeout},
};

pub use answers::Answers;
pub use model::Model;
pub use query::{AgentListQuery, ListPosition};
pub use reader::ListReadError;
pub use search::{MAX_WORDS, words};
pub use sort::AgentSort;
pub use table::Table;

use reader::ListReader;

/// Between two looks at the database.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// After a look, the task pauses for at least this multiple of the look's time, so that a large list with many changes uses
/// at most a fifth of a processor.
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
    current: watch::Sender<Option<Arc<CurrentTable>>>,
    reader: Mutex<ListReader>,
    /// Answers that were made of the tables.
    pub answers: Answers,
    started: Once,
}

/// A table, and when it was true.
pub struct CurrentTable {
    pub table: Arc<Table>,
    /// The slot that the mirror had reached when the rows were read.
    pub slot: Option<u64>,
    /// Before its rows were read.
    at: Instant,
    /// Another table has another number.
    pub version: u64,
}

impl AgentList {
    pub fn new(pool: PgPool) -> Arc<Self> {
        Arc::new(Self {
            pool,
            current: watch::Sender::default(),
            reader: Mutex::default(),
            answers: Answers::default(),
            started: Once::new(),
        })
    }

    /// Begins to follow the database.
    pub fn start(self: &Arc<Self>) {
        self.started.call_once(|| drop(tokio::spawn(follow(Arc::downgrade(self)))));
    }

    /// The last table. Waits a moment for the first one; `None` if there is none yet.
    pub async fn current(self: &Arc<Self>) -> Option<Arc<CurrentTable>> {
        if let Some(current) = self.last() {
            return Some(current);
        }
        self.start();
        let mut published = self.current.subscribe();
        let first = timeout(PATIENCE, published.wait_for(Option::is_some)).await;
        first.ok()?.ok()?.clone()
    }

    fn last(&self) -> Option<Arc<CurrentTable>> {
        self.current.borrow().clone()
    }

    /// How old the last table is; `None` before the first.
    pub fn age(&self) -> Option<Duration> {
        self.last().map(|current| current.at.elapsed())
    }

    /// The names of those agents that are listed, in the order of `agents`, and the slot of the table that has them.
    /// `None`: there is no table of the last moments.
    pub fn names(&self, agents: &[Pubkey]) -> Option<(Vec<Option<String>>, u64)> {
        let current = self.last().filter(|current| current.at.elapsed() <= MAX_AGE_OF_NAMES)?;
        let name = |agent| current.table.row_of(agent).map(|row| row.name.clone());
        Some((agents.iter().map(name).collect(), current.slot?))
    }

    /// Reads what is committed now, and publishes it.
    pub async fn refresh(&self) -> Result<(), ListReadError> {
        let mut reader = self.reader.lock().await;
        let at = Instant::now();
        let (table, slot) = reader.read(&self.pool).await?;
        let version = self.last().map_or(0, |last| {
            let is_same = Arc::ptr_eq(&last.table, &table);
            last.version.saturating_add(u64::from(!is_same))
        });
        self.current.send_replace(Some(Arc::new(CurrentTable { table, slot, at, version })));
        Ok(())
    }
}

/// Runs until the service ends. Of several failures in a row it logs the first.
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
